// The wall clock along an axis on which the trials of a run stand end to end: in one stretch of time after the other it is so
// much further.

// Times on the axis and what the clock (UTC, in seconds since 1970) was there, both in order; undefined where time is simulated.
export type Wall = { t_s: number[]; utc_s: number[] } | undefined;

const PIXELS = 90; // that a tick needs
const DAY = 86_400;
const SLACK = 1e-3; // seconds by which rounding moves a clock
// Between ticks, in seconds: parts of one as they are counted, then those of a clock.
const STEPS = [
  1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600,
  43_200, DAY,
];

// The last of those that are not behind this one, or the first.
function before(times: number[], t: number): number {
  let [low, high] = [0, times.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    [low, high] = (times[middle] ?? Infinity) <= t ? [middle, high] : [low, middle];
  }
  return low;
}

function utc({ t_s, utc_s }: NonNullable<Wall>, t: number): number {
  const at = before(t_s, t);
  return (utc_s[at] ?? 0) + t - (t_s[at] ?? 0);
}

const iso = (utc: number): string => new Date(Math.round(utc * 1000)).toISOString();

// `2026-11-25`, where all of it was on one day.
export function day(wall: Wall, from: number, to: number): string | undefined {
  const [first, last] = [from, to].map((t) => (wall ? iso(utc(wall, t)).slice(0, 10) : undefined));
  return first === last ? first : undefined;
}

// `22:58:03.25`, or `12.5 s` where time is simulated: as exactly as tells times of a stretch so long, in seconds, apart. A double
// has the seconds since 1970 to a quarter of a microsecond.
export function time(wall: Wall, t: number, width: number): string {
  const digits = Math.min(Math.max(Math.ceil(-Math.log10(width)) + 2, 3), wall ? 6 : 9);
  if (!wall) {
    return `${Number(t.toFixed(digits))} s`;
  }
  const [seconds, part] = utc(wall, t).toFixed(digits).split(".");
  return `${iso(Number(seconds)).slice(11, 19)}.${part}`.replace(/\.?0+$/, "");
}

// The same for ticks, which have their unit in the axis's title; with the date where there are several.
export function label(wall: Wall, from: number, to: number): (t: number) => string {
  if (!wall) {
    return (t) => String(Number(t.toPrecision(10)));
  }
  const has_date = day(wall, from, to) === undefined;
  return (t) => (has_date ? `${iso(utc(wall, t)).slice(5, 10)} ${time(wall, t, to - from)}` : time(wall, t, to - from));
}

// Round times between these two, on an axis of so many pixels.
export function ticks(wall: Wall, from: number, to: number, pixels: number): number[] {
  const most = Math.max(pixels / PIXELS, 1);
  const decade = 10 ** Math.floor(Math.log10((to - from) / most || 1));
  const round = wall ? STEPS : [1, 2, 5, 10].map((by) => by * decade);
  const step = round.find((step) => (to - from) / step <= most) ?? Math.ceil((to - from) / most / DAY) * DAY;
  const found: number[] = [];
  for (const [start, end, further] of wall ? stretches(wall, from, to) : [[from, to, 0] as const]) {
    for (let count = Math.ceil((start + further) / step - 1e-9); count * step - further <= end; count++) {
      const at = count * step - further;
      const last = found.at(-1);
      // Where another stretch begins, the next round time may be close.
      if (last === undefined || ((at - last) * pixels) / (to - from) > PIXELS * 0.8) {
        found.push(at);
      }
    }
  }
  return found;
}

// In which the clock goes on as the axis does: from, to, and what is to be added.
function stretches({ t_s, utc_s }: NonNullable<Wall>, from: number, to: number): [number, number, number][] {
  const found: [number, number, number][] = [];
  t_s.forEach((t, at) => {
    const further = (utc_s[at] ?? 0) - t;
    const last = found.at(-1);
    if (last && Math.abs(last[2] - further) < SLACK) {
      return;
    }
    if (last) {
      last[1] = Math.min(t, to);
    }
    found.push([last ? Math.max(t, from) : from, to, further]);
  });
  return found.filter(([, end]) => end >= from);
}
