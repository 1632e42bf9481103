// A run in progress: what has come in the last stretch of time, as the server tells of it.
// <section data-progress="ADDRESS"><p class="status"></p><div class="plot"></div></section>
import { fill, plot, type Cells } from "./plot";

interface Progress {
  says: string;
  cells: Cells;
}

const LONGEST = 600; // cells that are kept

export class Live {
  private readonly cells: Cells = { t_s: [], min_ns: [], max_ns: [], mean_ns: [], unanswered: [] };

  constructor(private readonly section: HTMLElement) {}

  start(): void {
    const place = this.section.querySelector<HTMLElement>(".plot");
    const status = this.section.querySelector<HTMLElement>(".status");
    if (!place || !status) {
      throw new Error("a live view has no place");
    }
    const chart = plot(place);
    const events = new EventSource(this.section.dataset.progress ?? "");
    events.addEventListener("progress", (event: MessageEvent<string>) => {
      const progress = JSON.parse(event.data) as Progress;
      status.textContent = progress.says;
      this.add(progress.cells);
      fill(chart, this.cells);
      this.section.dataset.cells = String(this.cells.t_s.length);
    });
    events.addEventListener("finished", (event: MessageEvent<string>) => {
      events.close();
      location.assign(event.data);
    });
    events.addEventListener("error", () => {
      status.textContent = "The server does not answer; trying again.";
    });
  }

  // A trial in a simulation begins at zero again: cells that are not later begin a new picture.
  private add(fresh: Cells): void {
    const last = this.cells.t_s.at(-1) ?? -Infinity;
    const starts = (fresh.t_s[0] ?? Infinity) < last;
    for (const [name, values] of Object.entries(fresh) as [keyof Cells, never[]][]) {
      const kept = this.cells[name] as never[];
      kept.splice(0, starts ? kept.length : 0);
      kept.push(...values);
      kept.splice(0, Math.max(0, kept.length - LONGEST));
    }
  }
}
