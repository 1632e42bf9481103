// The filter of a page: which levels of each factor are shown, in every figure and table that tells them apart.
// <form id="filter"> has a checkbox for each level, with data-factor and data-level, and data-part:
// how the labels of panels and lines name it.
import type { Row } from "./packed";

interface Level {
  factor: string;
  level: string;
  part: string;
}

export class Filter {
  private readonly boxes: HTMLInputElement[];

  constructor(page: Document, changed: () => void) {
    const form = page.querySelector<HTMLFormElement>("form#filter");
    this.boxes = [...(form?.querySelectorAll("input") ?? [])];
    if (!form) {
      return;
    }
    form.hidden = false;
    form.addEventListener("change", changed);
    form.addEventListener("submit", (event) => event.preventDefault());
    // After the boxes are back.
    form.addEventListener("reset", () => setTimeout(changed));
  }

  private hidden(): Level[] {
    return this.boxes.filter((box) => !box.checked).map(level);
  }

  // Is a row of a figure's data shown? What belongs to no level is.
  rows(): (row: Row) => boolean {
    const hidden = this.hidden();
    return (row) => !hidden.some((level) => names(row, level));
  }

  // Factors of which a level is hidden, although these rows do not tell it from the others.
  untold(rows: Row[]): string[] {
    const factors = [...new Set(this.hidden().map(({ factor }) => factor))];
    const all = this.boxes.map(level);
    const isApart = (factor: string) => all.some((one) => one.factor === factor && rows.some((row) => names(row, one)));
    return factors.filter((factor) => !isApart(factor));
  }

  // Are cells with these heads shown?
  cells(): (cells: Map<string, string>) => boolean {
    const hidden = this.hidden();
    return (cells) => !hidden.some(({ factor, level }) => cells.get(factor) === level);
  }
}

function level({ dataset }: HTMLInputElement): Level {
  return { factor: dataset.factor ?? "", level: dataset.level ?? "", part: dataset.part ?? "" };
}

function names(row: Row, { factor, level, part }: Level): boolean {
  if (row[factor] === level) {
    return true;
  }
  const labels = [row.panel, row.group];
  return labels.some((label) => label === level || `, ${String(label)}, `.includes(`, ${part}, `));
}
