// Round trips of a run of any length: the server makes cells of what is shown, and no extreme is lost.
// <figure data-window="ADDRESS"><select>…</select><div class="plot"></div><p class="status"></p></figure>
import type uPlot from "uplot";
import { CLOCK_COLOUR, GAP_COLOUR, duration, fill, plot, type Cells, type Mark } from "./plot";
import { day, time, type Wall } from "./wall";
import { zoomButtons, zoomKeys, type Range } from "./zoom";

interface Answer {
  from_s: number;
  to_s: number;
  end_s: number;
  // Whether anything of the probe is recorded.
  is_begun: boolean;
  packets: number;
  trials: string;
  cells: Cells;
  marks: Mark[];
  // Of the trials shown; null where time is simulated.
  clock: Wall | null;
}

// What the server says in the place of an answer.
class Refusal extends Error {}

const wallOf = ({ clock }: Answer): Wall => clock ?? undefined;

const KINDS: [Mark["kind"], string, string][] = [
  ["sentinel_gap", "Gaps of the CPU sentinel", GAP_COLOUR],
  ["step", "Packets while the real-time clock was set", CLOCK_COLOUR],
  ["suspend", "Packets while the host was suspended", CLOCK_COLOUR],
  ["slow_clock_read", "Slow reads of the clock", CLOCK_COLOUR],
];

// What the marks below say, kind by kind.
function told(page: Document, answer: Answer): HTMLElement[] {
  const { marks } = answer;
  const width = answer.to_s - answer.from_s;
  return KINDS.flatMap(([kind, says, colour]) => {
    const own = marks.filter((mark) => mark.kind === kind);
    if (own.length === 0) {
      return [];
    }
    const count = own.reduce((sum, mark) => sum + mark.count, 0).toLocaleString("en");
    const longest = own.reduce((a, b) => ((b.length_ns ?? 0) > (a.length_ns ?? 0) ? b : a));
    const worst = longest.length_ns === null ? "" : `, the longest ${duration(longest.length_ns)} at ${time(wallOf(answer), longest.t_s, width)}`;
    const item = page.createElement("li");
    const sample = page.createElement("span");
    sample.className = "u-marker";
    sample.style.background = colour;
    item.dataset.kind = kind;
    item.append(sample, `${says}: ${count}${worst}`);
    return [item];
  });
}

export class LongSeries {
  private readonly place: HTMLElement;
  private readonly status: HTMLElement;
  private readonly probe: HTMLSelectElement | null;
  private chart: uPlot | undefined;
  private answer: Answer | undefined;
  private asked = 0;

  constructor(private readonly figure: HTMLElement) {
    const place = figure.querySelector<HTMLElement>(".plot");
    const status = figure.querySelector<HTMLElement>(".status");
    if (!place || !status) {
      throw new Error("a long series has no place");
    }
    this.place = place;
    this.status = status;
    this.probe = figure.querySelector("select");
  }

  start(): void {
    this.chart = plot(this.place, "Time (s)", (from, to) => this.show([from, to]));
    const zoomable = {
      whole: (): Range => [0, this.answer?.end_s ?? 1],
      shown: (): Range => (this.answer ? [this.answer.from_s, this.answer.to_s] : [0, 1]),
      show: (range: Range | null) => this.show(range),
    };
    const tools = this.figure.ownerDocument.createElement("p");
    tools.className = "tools";
    tools.append(...zoomButtons(this.figure.ownerDocument, [zoomable]));
    this.place.after(tools);
    zoomKeys(this.place, [zoomable]);
    this.probe?.addEventListener("change", () => this.show(null));
    this.show(null);
  }

  // What was asked for last is shown, whichever answer comes last.
  private show(range: Range | null): void {
    const turn = ++this.asked;
    this.load(range, turn).catch((error: unknown) => {
      if (turn === this.asked) {
        this.status.textContent = error instanceof Refusal ? error.message : `The server does not answer: ${String(error)}`;
      }
    });
  }

  private async load(range: Range | null, turn: number): Promise<void> {
    const query = new URLSearchParams({ cells: String(Math.max(this.place.clientWidth, 100)) });
    if (this.probe) {
      query.set("probe", this.probe.value);
    }
    if (range) {
      query.set("from", String(range[0]));
      query.set("to", String(range[1]));
    }
    const found = await fetch(`${this.figure.dataset.window}?${query.toString()}`);
    if (!found.ok) {
      throw new Refusal(await found.text());
    }
    const answer = (await found.json()) as Answer;
    if (turn === this.asked) {
      this.draw(answer);
    }
  }

  private draw(answer: Answer): void {
    this.answer = answer;
    if (this.chart) {
      fill(this.chart, answer.cells, answer.marks, wallOf(answer));
      if (answer.to_s > answer.from_s) {
        this.chart.setScale("x", { min: answer.from_s, max: answer.to_s });
      }
    }
    const packets = answer.packets === 1 ? "1 packet" : `${answer.packets.toLocaleString("en")} packets`;
    const wall = wallOf(answer);
    const width = answer.to_s - answer.from_s;
    const [from, to, end] = [answer.from_s, answer.to_s, answer.end_s].map((t) => time(wall, t, width));
    const date = day(wall, answer.from_s, answer.to_s);
    const of = wall ? ` UTC${date ? ` on ${date}` : ""}` : ` of ${end}`;
    const shown = [`${packets} from ${from} to ${to}${of}`, answer.trials].filter(Boolean).join("; ");
    this.status.textContent = answer.is_begun ? shown : "Nothing of this probe is recorded yet.";
    this.figure.querySelector(".marks")?.replaceChildren(...told(this.figure.ownerDocument, answer));
    this.figure.dataset.drawn = "true";
    this.figure.dataset.from = String(answer.from_s);
    this.figure.dataset.to = String(answer.to_s);
  }
}
