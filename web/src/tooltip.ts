// A small table beside the pointer. Text only: nothing of a figure becomes markup.
import type { TooltipHandler } from "vega";

const AWAY = 14; // pixels from the pointer

export class Tooltip {
  private readonly box: HTMLElement;
  readonly handler: TooltipHandler;

  constructor(page: Document) {
    this.box = page.createElement("div");
    this.box.className = "tooltip";
    this.box.setAttribute("role", "tooltip");
    this.box.hidden = true;
    page.body.append(this.box);
    this.handler = (_view, event, _item, value) => this.show(event as MouseEvent, value);
  }

  private show(event: MouseEvent, value: unknown): void {
    this.box.hidden = value === null || value === undefined || value === "";
    if (this.box.hidden) {
      return;
    }
    this.box.replaceChildren(...rows(this.box.ownerDocument, value));
    this.place(event);
  }

  private place(event: MouseEvent): void {
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const { clientWidth, clientHeight } = this.box.ownerDocument.documentElement;
    const beside = (at: number, size: number, room: number) =>
      at + AWAY + size > room ? Math.max(0, at - AWAY - size) : at + AWAY;
    this.box.style.left = `${beside(event.clientX, width, clientWidth)}px`;
    this.box.style.top = `${beside(event.clientY, height, clientHeight)}px`;
  }
}

function rows(page: Document, value: unknown): HTMLElement[] {
  if (typeof value !== "object" || value === null) {
    return [line(page, String(value))];
  }
  const shown = Object.entries(value).filter(([, text]) => text !== "" && text !== null);
  return shown.map(([name, text]) => line(page, String(text), name));
}

function line(page: Document, text: string, name?: string): HTMLElement {
  const row = page.createElement("div");
  if (name !== undefined) {
    const label = page.createElement("span");
    label.textContent = name;
    row.append(label);
  }
  const figure = page.createElement("b");
  figure.textContent = text;
  row.append(figure);
  return row;
}
