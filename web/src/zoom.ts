// Zooming along the x axis by button and by key, the same for every figure that can.

export type Range = [number, number];

export interface Zoomable {
  // All that there is.
  whole(): Range;
  // What is shown.
  shown(): Range;
  // Shows this; null is all.
  show(range: Range | null): void;
}

const STEP = 0.5; // of what is shown, by zooming and by moving

interface Move {
  label: string;
  title: string;
  keys: string[];
  to: (of: Zoomable) => Range | null;
}

const around = (of: Zoomable, factor: number): Range => {
  const [from, to] = of.shown();
  const half = ((to - from) / 2) * factor;
  return within(of, [(from + to) / 2 - half, (from + to) / 2 + half]);
};

const aside = (of: Zoomable, share: number): Range => {
  const [from, to] = of.shown();
  const by = (to - from) * share;
  return within(of, [from + by, to + by]);
};

// Not beyond either end, and no longer than all.
function within(of: Zoomable, [from, to]: Range): Range {
  const [least, most] = of.whole();
  const length = Math.min(to - from, most - least);
  const start = Math.min(Math.max(from, least), most - length);
  return [start, start + length];
}

const MOVES: Move[] = [
  { label: "+", title: "Zoom in", keys: ["+", "="], to: (of) => around(of, STEP) },
  { label: "−", title: "Zoom out", keys: ["-"], to: (of) => around(of, 1 / STEP) },
  { label: "←", title: "Earlier or less", keys: ["ArrowLeft"], to: (of) => aside(of, -STEP) },
  { label: "→", title: "Later or more", keys: ["ArrowRight"], to: (of) => aside(of, STEP) },
  { label: "All", title: "Show all", keys: ["0", "Escape"], to: () => null },
];

// Each axis moves about its own middle.
function moved(axes: Zoomable[], move: Move, redraw: () => void): void {
  axes.forEach((axis) => axis.show(move.to(axis)));
  redraw();
}

// A button for each way to move.
export function zoomButtons(page: Document, axes: Zoomable[], redraw = () => {}): HTMLElement[] {
  return MOVES.map((move) => {
    const button = page.createElement("button");
    button.type = "button";
    button.textContent = move.label;
    button.title = move.title;
    button.setAttribute("aria-label", move.title);
    button.addEventListener("click", () => moved(axes, move, redraw));
    return button;
  });
}

// The same by key, while `place` has the focus.
export function zoomKeys(place: HTMLElement, axes: Zoomable[], redraw = () => {}): void {
  place.tabIndex = 0;
  place.addEventListener("keydown", (event) => {
    const move = MOVES.find((move) => move.keys.includes(event.key));
    if (move && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      moved(axes, move, redraw);
    }
  });
}
