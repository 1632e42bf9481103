// A run in progress: the last minute of the trial under way, as the server tells of it.
// <section data-progress="ADDRESS"><p class="status"></p><p class="counts"></p><div class="plot"></div></section>
import { listen } from "./listen";
import { fill, plot, type Cells } from "./plot";

interface Progress {
  says: string;
  counts: string;
  cells: Cells;
}

export class Live {
  constructor(private readonly section: HTMLElement) {}

  start(): void {
    const place = this.section.querySelector<HTMLElement>(".plot");
    const status = this.section.querySelector<HTMLElement>(".status");
    const counts = this.section.querySelector<HTMLElement>(".counts");
    if (!place || !status || !counts) {
      throw new Error("a live view has no place");
    }
    // A screen reader speaks of every change: there is one where something else is to be said.
    const say = (text: string) => {
      if (status.textContent !== text) {
        status.textContent = text;
      }
    };
    const chart = plot(place, "Time in the trial (s)");
    const progressed = (data: string) => {
      const progress = JSON.parse(data) as Progress;
      say(progress.says);
      counts.textContent = progress.counts;
      fill(chart, progress.cells);
      this.section.dataset.cells = String(progress.cells.t_s.length);
    };
    const finished = (address: string) => {
      stop();
      location.assign(address);
    };
    const removed = (text: string) => {
      stop();
      say(text);
    };
    const lost = () => say("The server does not answer; trying again.");
    const stop = listen(() => this.section.dataset.progress ?? "", { events: { progress: progressed, finished, removed }, lost });
  }
}
