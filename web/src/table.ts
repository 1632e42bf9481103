// Tables with class "sortable": a click on a head sorts by it, another one turns the order round. The
// box of a table with data-search leaves the rows that contain what is typed.

import { size } from "./quantity";

type Cells = Map<string, string>;

const headsOf = (table: HTMLTableElement): HTMLTableCellElement[] => [...(table.tHead?.rows[0]?.cells ?? [])];

// The cells of a row by the heads of their columns.
function cellsOf(row: HTMLTableRowElement, heads: HTMLTableCellElement[]): Cells {
  return new Map(heads.map((head, k) => [head.textContent ?? "", row.cells[k]?.textContent ?? ""]));
}

// Shows only rows whose cells are kept, each with its note, if it has one.
export function filterRows(table: HTMLTableElement, keep: (cells: Cells) => boolean): void {
  const heads = headsOf(table);
  let hidden = false;
  for (const row of table.tBodies[0]?.rows ?? []) {
    hidden = row.classList.contains("note") ? hidden : !keep(cellsOf(row, heads));
    row.hidden = hidden;
  }
}

export class SortableTable {
  private readonly heads: HTMLTableCellElement[];
  private keep: (cells: Cells) => boolean = () => true;
  private words = "";

  constructor(private readonly table: HTMLTableElement) {
    this.heads = headsOf(table);
    this.heads.forEach((head, column) => this.makeSortable(head, column));
    table.addEventListener("renewed", () => this.again());
    if (table.dataset.search !== undefined) {
      table.parentElement?.before(this.searchBox(table.ownerDocument, table.dataset.search));
    }
  }

  // A list that a server sends again has other rows.
  private get rows(): HTMLTableRowElement[] {
    return [...(this.table.tBodies[0]?.rows ?? [])];
  }

  // Sorts rows that are new as those before them.
  again(): void {
    const column = this.heads.findIndex((head) => head.hasAttribute("aria-sort"));
    if (column >= 0) {
      this.sort(column, this.heads[column]?.getAttribute("aria-sort") === "ascending" ? 1 : -1);
    }
    this.show();
  }

  // Shows only rows whose cells, by their heads, are kept.
  filter(keep: (cells: Cells) => boolean): void {
    this.keep = keep;
    this.show();
  }

  private show(): void {
    for (const row of this.rows) {
      const text = [...row.cells].map((cell) => cell.textContent ?? "").join(" ");
      const found = text.toLowerCase().includes(this.words);
      row.hidden = !found || !this.keep(cellsOf(row, this.heads));
    }
  }

  private searchBox(page: Document, label: string): HTMLElement {
    const box = page.createElement("input");
    box.type = "search";
    box.placeholder = label;
    box.setAttribute("aria-label", label);
    box.className = "search";
    box.addEventListener("input", () => {
      this.words = box.value.trim().toLowerCase();
      this.show();
    });
    return box;
  }

  private makeSortable(head: HTMLTableCellElement, column: number): void {
    const button = head.ownerDocument.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      this.heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      this.sort(column, order === "ascending" ? 1 : -1);
    });
  }

  private sort(column: number, sign: number): void {
    const text = (row: HTMLTableRowElement) => row.cells[column]?.textContent ?? "";
    const rows = this.rows.map((row) => ({ row, text: text(row), size: size(text(row)) }));
    rows.sort((a, b) => {
      if (a.size === undefined || b.size === undefined) {
        // What has no value comes last, whichever the order.
        const known = Number(b.size !== undefined) - Number(a.size !== undefined);
        return known || sign * compare(a.text, b.text);
      }
      // Dates of one year begin with the same number.
      return sign * (a.size - b.size || compare(a.text, b.text));
    });
    // What stands where it belongs is not touched, so that it can be clicked while a list is made anew.
    let next = this.table.tBodies[0]?.firstElementChild ?? null;
    for (const { row } of rows) {
      if (row === next) {
        next = row.nextElementSibling;
      } else {
        this.table.tBodies[0]?.insertBefore(row, next);
      }
    }
  }
}

// As words, but numbers in them by value.
function compare(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
