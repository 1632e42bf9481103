// A band from the least to the largest over time with its mean, as uPlot draws it: fast enough to be
// drawn again whenever something is added.
import uPlot from "uplot";
import { day, label, ticks as times, time as clock, type Wall } from "./wall";

// Times, and of each: least, largest, mean, and packets that were not answered.
export interface Cells {
  t_s: number[];
  min_ns: (number | null)[];
  max_ns: (number | null)[];
  mean_ns: (number | null)[];
  unanswered: number[];
}

// What happened to the host: in each stretch of time the longest of a kind, and how many there were.
export interface Mark {
  t_s: number;
  kind: "sentinel_gap" | "step" | "suspend" | "slow_clock_read";
  length_ns: number | null;
  count: number;
}

const HEIGHT = 280;
const LONE = 5; // of a point without a neighbour, in CSS pixels
const MARK = { width: 2, height: 12 }; // of a mark below, in CSS pixels
export const GAP_COLOUR = "#a9660a";
export const CLOCK_COLOUR = "#7a5cf0";

// `title` is what the axis of times says where they are no wall clock's.
export function plot(place: HTMLElement, title: string, onSelect?: (from: number, to: number) => void): uPlot {
  const colour = (name: string) => () => getComputedStyle(place).getPropertyValue(name).trim();
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--axis"), width: 1 } };
  const time = (_plot: uPlot, values: (number | null)[]) => values.map((value) => (value === null ? "" : duration(value)));
  const one = (_plot: uPlot, value: number | null) => (value === null || value === undefined ? "–" : duration(value));
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false }, y: { distr: 3, range: around }, lost: { range: [0, 1] } },
    cursor: { drag: { x: onSelect !== undefined, y: false, setScale: false } },
    axes: [
      {
        ...axis,
        label: (of) => ((of as Counted).wall ? ["UTC", day((of as Counted).wall, ...shown(of))].filter(Boolean).join(", ") : title),
        labelFont: "12px system-ui, sans-serif",
        labelSize: 20,
        splits: (of, _axis, least, most) => times((of as Counted).wall, least, most, of.bbox.width / devicePixelRatio),
        values: (of, values) => values.map(label((of as Counted).wall, ...shown(of))),
      },
      { ...axis, size: 70, values: time, splits: (_plot, _axis, least, most) => ticks(least, most), filter: (_plot, all) => all },
    ],
    series: [
      { label: "Time", value: (of, value) => (value === null ? "–" : clock((of as Counted).wall, value, width(of))) },
      { label: "Largest", stroke: "#7f9fb8", width: 1, points: lone("#7f9fb8"), value: one },
      { label: "Smallest", stroke: "#7f9fb8", width: 1, points: lone("#7f9fb8"), value: one },
      { label: "Mean", stroke: "#0072b2", width: 1.5, points: lone("#0072b2"), value: one },
      {
        label: "Unanswered", scale: "lost", stroke: "#d55e00", paths: () => null,
        points: { show: true, size: 7, fill: "#d55e00" },
        value: (of, _value, _series, at) => String(at === null ? "–" : (of as Counted).lost?.[at] ?? 0),
      },
    ],
    bands: [{ series: [1, 2], fill: "rgb(127 159 184 / 0.35)" }],
    hooks: { setSelect: [(of) => onSelect && selected(of, onSelect)], draw: [drawMarks] },
  };
  const made = new uPlot(options, [[], [], [], [], []], place);
  new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => made.redraw());
  return made;
}

// A line needs two points: one between gaps would not be seen, such as a single answer in an outage.
const lone = (fill: string): uPlot.Series.Points => ({
  show: false,
  size: LONE,
  fill,
  filter: (of, series) => {
    const values = of.data[series] ?? [];
    const has = (at: number) => values[at] !== null && values[at] !== undefined;
    return Array.from(values, (_, at) => at).filter((at) => has(at) && !has(at - 1) && !has(at + 1));
  },
});

// What is not drawn to scale is kept beside.
interface Counted extends uPlot {
  lost?: number[];
  marks?: Mark[];
  wall?: Wall;
}

// From where to where the axis of times goes.
const shown = (of: uPlot): [number, number] => [of.scales.x?.min ?? 0, of.scales.x?.max ?? 1];

const width = (of: uPlot): number => shown(of)[1] - shown(of)[0];

function drawMarks(of: uPlot): void {
  const { left, top, width, height } = of.bbox;
  const [wide, high] = [MARK.width, MARK.height].map((size) => size * devicePixelRatio) as [number, number];
  for (const { t_s, kind } of (of as Counted).marks ?? []) {
    const x = of.valToPos(t_s, "x", true);
    if (x >= left && x <= left + width) {
      of.ctx.fillStyle = kind === "sentinel_gap" ? GAP_COLOUR : CLOCK_COLOUR;
      of.ctx.fillRect(x - wide / 2, top + height - high, wide, high);
    }
  }
}

export function fill(of: uPlot, cells: Cells, marks: Mark[] = [], wall?: Wall): void {
  Object.assign(of as Counted, { lost: cells.unanswered, marks, wall });
  const lost = cells.unanswered.map((count) => (count > 0 ? 0.97 : null));
  of.setData([cells.t_s, cells.max_ns, cells.min_ns, cells.mean_ns, lost]);
}

function selected(of: uPlot, onSelect: (from: number, to: number) => void): void {
  const { left, width } = of.select;
  if (width > 2) {
    onSelect(of.posToVal(left, "x"), of.posToVal(left + width, "x"));
    of.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }
}

// A little beyond what is drawn, on a logarithmic axis.
const around = (_plot: uPlot, least: number | null, most: number | null): [number, number] =>
  least === null || most === null ? [1e3, 1e6] : [Math.max(least, 1) / 1.1, Math.max(most, 1) * 1.1];

// Round values from least to most: a few for each power of ten, or, where all is close together, at equal distances.
export function ticks(least: number, most: number): number[] {
  const size = 10 ** Math.floor(Math.log10((most - least) / 2));
  const found: number[] = [];
  if (most < 10 * least) {
    const step = [1, 2, 5, 10].map((by) => by * size).find((step) => (most - least) / step <= 6) ?? size;
    for (let at = Math.ceil(least / step) * step; at <= most; at += step) {
      found.push(at);
    }
    return found;
  }
  for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10) {
    const parts = most > 1e4 * least ? [1] : [1, 2, 5];
    found.push(...parts.map((by) => by * decade).filter((at) => at >= least && at <= most));
  }
  return found;
}

// Nanoseconds with a unit that fits: 1.25 ms.
export function duration(ns: number): string {
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  const [size, unit] = units.find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}
