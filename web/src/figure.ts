// One figure of a page, drawn in place of its still picture:
// <figure data-spec="ID"><div class="drawing">…</div><figcaption>…</figcaption></figure>
// with its specification in the JSON script spec-ID.
import type { View } from "vega";
import { view, type Spec } from "./draw";
import { unpacked, type Packed, type Row } from "./packed";
import { downloads } from "./save";
import type { Tooltip } from "./tooltip";
import { zoomButtons, zoomKeys, type Range, type Zoomable } from "./zoom";

export type Keep = (row: Row) => boolean;

// A specification of ours has its data inline.
type Inline = Spec & { data: { values: Row[] } };

export class Figure {
  private readonly place: HTMLElement;
  private readonly spec: Inline;
  private shown: Spec;
  private drawn: View | undefined;
  // Drawings that were asked for: only the last one is kept.
  private asked = 0;

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
    this.addTools(id);
  }

  // Draws the rows that are kept.
  async draw(keep: Keep = () => true): Promise<void> {
    const turn = ++this.asked;
    const page = this.element.ownerDocument;
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

  private async view(container: HTMLElement): Promise<View> {
    const drawn = view(this.shown, { renderer: "svg", container, hover: true });
    drawn.tooltip(this.tooltip.handler);
    return drawn.runAsync();
  }

  private addTools(id: string): void {
    const page = this.element.ownerDocument;
    const tools = page.createElement("p");
    tools.className = "tools";
    const axes = zoomAxes(this.spec);
    if (axes.length > 0) {
      const zoomable = this.zoomable(axes);
      tools.append(...zoomButtons(page, zoomable));
      zoomKeys(this.place, zoomable);
      this.place.setAttribute("role", "group");
      const heading = this.element.querySelector("h3")?.textContent ?? id;
      this.place.setAttribute("aria-label", `${heading}. Plus, minus and arrow keys zoom; 0 shows all.`);
    }
    tools.append(...downloads(page, id, () => this.shown));
    this.element.append(tools);
  }

  // All axes of a figure are of one kind, and move together.
  private zoomable(axes: Axis[]): Zoomable {
    const fields = axes.flatMap((axis) => axis.fields);
    const whole = () => extent(this.spec.data.values, fields);
    const first = axes[0]?.signal ?? "";
    return {
      whole,
      shown: () => (this.drawn?.signal(first) as Range | null | undefined) ?? whole(),
      show: (range) => {
        for (const { signal } of axes) {
          this.drawn?.signal(signal, range);
        }
        this.drawn?.run();
        this.element.dataset.zoomed = String(range !== null);
      },
    };
  }
}

// An x axis that the specification binds to a selection.
interface Axis {
  signal: string;
  fields: string[];
}

interface Unit {
  params?: { name: string; bind?: unknown }[];
  encoding?: Record<string, { field?: string }>;
  spec?: Unit;
  layer?: Unit[];
  vconcat?: Unit[];
}

// Vega-Lite calls the signal that holds what is shown after the selection and the field.
function zoomAxes(spec: unknown): Axis[] {
  const unit = spec as Unit;
  const params = [...(unit.params ?? []), ...(unit.layer?.[0]?.params ?? [])];
  const name = params.find((param) => param.bind === "scales")?.name;
  const field = unit.encoding?.x?.field;
  if (name !== undefined && field !== undefined) {
    const x2 = unit.encoding?.x2?.field ?? unit.layer?.[0]?.encoding?.x2?.field;
    const fields = [field, x2].filter((name) => name !== undefined);
    return [{ signal: `${name}_${field}`, fields }];
  }
  const inner = [...(unit.vconcat ?? []), ...(unit.spec ? [unit.spec] : [])];
  return inner.flatMap(zoomAxes);
}

function extent(rows: Row[], fields: string[]): Range {
  let [least, most] = [Infinity, -Infinity];
  for (const row of rows) {
    for (const field of fields) {
      const value = row[field];
      if (typeof value === "number") {
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
    }
  }
  return [least, most];
}
