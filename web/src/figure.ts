// One figure of a page, drawn in place of its still picture:
// <figure data-spec="ID"><div class="drawing">…</div><figcaption>…</figcaption></figure>
// with its specification in the JSON script spec-ID.
import type { View } from "vega";
import { extent, zoomAxes, type Axis } from "./axis";
import { view, type Spec } from "./draw";
import { unpacked, type Keep, type Packed, type Row } from "./packed";
import { narrow, NARROW } from "./narrow";
import { downloads } from "./save";
import type { Tooltip } from "./tooltip";
import { zoomButtons, zoomKeys, type Range, type Zoomable } from "./zoom";

// A specification of ours has its data inline.
type Inline = Spec & { data: { values: Row[] } };

export class Figure {
  private readonly place: HTMLElement;
  private readonly spec: Inline;
  private shown: Spec;
  private drawn: View | undefined;
  // Drawings that were asked for: only the last one is kept.
  private asked = 0;
  // What the filter does not change.
  private readonly note: HTMLElement;

  constructor(
    readonly element: HTMLElement,
    private readonly tooltip: Tooltip,
  ) {
    const id = element.dataset.spec ?? "";
    const page = element.ownerDocument;
    const place = element.querySelector<HTMLElement>(".drawing");
    const text = page.getElementById(`spec-${id}`)?.textContent;
    if (!place || !text) {
      throw new Error("has no place or no specification");
    }
    this.place = place;
    const spec = JSON.parse(text) as Spec & { data: Packed };
    this.spec = { ...spec, data: { values: unpacked(spec.data) } };
    this.shown = this.spec;
    this.note = page.createElement("p");
    this.note.className = "meta untold";
    this.note.hidden = true;
    element.append(this.note);
    this.addTools(id);
  }

  // Draws the rows that are kept. `untold`: factors of which levels are hidden that these rows do not tell apart.
  async draw(keep: Keep = () => true, untold: (rows: Row[]) => string[] = () => []): Promise<void> {
    const turn = ++this.asked;
    const page = this.element.ownerDocument;
    const factors = untold(this.spec.data.values);
    this.note.hidden = factors.length === 0;
    this.note.textContent = `The filter by ${factors.join(" and ")} does not change this figure.`;
    const values = this.spec.data.values.filter(keep);
    this.shown = { ...this.spec, data: { values } };
    const fresh = page.createElement("div");
    if (values.length === 0) {
      fresh.append("The filter leaves nothing of this figure.");
    }
    const drawn = values.length > 0 ? await this.view(fresh) : undefined;
    if (turn !== this.asked) {
      drawn?.finalize();
      return;
    }
    // A container is no symbol: it has no name of its own, and may be empty.
    for (const container of fresh.querySelectorAll("g.role-mark[role=graphics-symbol]")) {
      container.setAttribute("role", "graphics-object");
    }
    this.drawn?.finalize();
    this.drawn = drawn;
    this.place.replaceChildren(...fresh.childNodes);
    this.element.dataset.drawn = "true";
  }

  // Is there so little room, or again enough, that it has to be drawn otherwise?
  get isOutgrown(): boolean {
    return this.isNarrow !== this.element.hasAttribute("data-narrow");
  }

  private get isNarrow(): boolean {
    const room = this.place.clientWidth;
    return room > 0 && room < NARROW;
  }

  private async view(container: HTMLElement): Promise<View> {
    this.element.toggleAttribute("data-narrow", this.isNarrow);
    const spec = this.isNarrow ? narrow(this.shown, this.place.clientWidth) : this.shown;
    const drawn = view(spec, { renderer: "svg", container, hover: true });
    drawn.tooltip(this.tooltip.handler);
    return drawn.runAsync();
  }

  private addTools(id: string): void {
    const page = this.element.ownerDocument;
    const tools = page.createElement("p");
    tools.className = "tools";
    const axes = zoomAxes(this.spec).map((axis) => this.zoomable(axis));
    if (axes.length > 0) {
      const redraw = () => void this.drawn?.run();
      tools.append(...zoomButtons(page, axes, redraw));
      zoomKeys(this.place, axes, redraw);
      this.place.setAttribute("role", "group");
      const heading = this.element.querySelector("h3")?.textContent ?? id;
      this.place.setAttribute("aria-label", `${heading}. Plus, minus and arrow keys zoom; 0 shows all.`);
    }
    tools.append(...downloads(page, id, () => this.shown));
    this.element.append(tools);
  }

  private zoomable({ signal, fields, of, scale }: Axis): Zoomable {
    const places = ([from, to]: Range): Range => [scale.place(from), scale.place(to)];
    const values = ([from, to]: Range): Range => [scale.value(from), scale.value(to)];
    const whole = () => places(extent(this.spec.data.values.filter(of), fields));
    return {
      whole,
      shown: () => {
        const range = this.drawn?.signal(signal) as Range | null | undefined;
        return range ? places(range) : whole();
      },
      show: (range) => {
        this.drawn?.signal(signal, range && values(range));
        this.element.dataset.zoomed = String(range !== null);
      },
    };
  }
}
