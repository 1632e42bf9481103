// A run in progress: the last minute of the trial under way, as the server tells of it.
// <section data-progress="ADDRESS"><p class="status"></p><div class="plot"></div></section>
import { fill, plot, type Cells } from "./plot";

interface Progress {
  says: string;
  cells: Cells;
}

export class Live {
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
      fill(chart, progress.cells);
      this.section.dataset.cells = String(progress.cells.t_s.length);
    });
    events.addEventListener("finished", (event: MessageEvent<string>) => {
      events.close();
      location.assign(event.data);
    });
    events.addEventListener("error", () => {
      status.textContent = "The server does not answer; trying again.";
    });
  }
}
