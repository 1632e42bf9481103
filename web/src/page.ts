// Brings a page to life. Without this script everything is there but what moves.
import { exportable } from "./export";
import { Figure } from "./figure";
import { Filter } from "./filter";
import type { Row } from "./packed";
import { serve } from "./served";
import { SortableTable, filterRows } from "./table";
import { Tooltip } from "./tooltip";

const SOON = 100; // milliseconds after which a window that is drawn to a size has surely got it

export function startPage(page: Document): void {
  const tooltip = new Tooltip(page);
  const tables = [...page.querySelectorAll<HTMLTableElement>("table.sortable")].map((t) => new SortableTable(t));
  const plain = [...page.querySelectorAll<HTMLTableElement>("section table:not(.sortable)")];
  const figures: Figure[] = [];
  for (const element of page.querySelectorAll<HTMLElement>("figure[data-spec]")) {
    attempt(element, () => figures.push(new Figure(element, tooltip)));
  }
  // One after the other, the first as soon as it can be; a change of the filter begins anew.
  let turn = 0;
  const draw = () => {
    tables.forEach((table) => table.filter(filter.cells()));
    plain.forEach((table) => filterRows(table, filter.cells()));
    void drawAll(++turn);
  };
  const drawAll = async (own: number) => {
    for (const figure of figures) {
      if (own !== turn) {
        return;
      }
      const untold = (rows: Row[]) => filter.untold(rows);
      await figure.draw(filter.rows(), untold).catch((error: unknown) => complain(figure.element, error));
      await painted();
    }
  };
  const filter = new Filter(page, draw);
  draw();
  let soon = 0;
  page.defaultView?.addEventListener("resize", () => {
    clearTimeout(soon);
    soon = setTimeout(() => figures.some((figure) => figure.isOutgrown) && draw(), SOON);
  });
  exportable(page);
  serve(page);
}

// The browser shows what is drawn before more is.
const painted = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

function attempt(element: HTMLElement, action: () => void): void {
  try {
    action();
  } catch (error) {
    complain(element, error);
  }
}

function complain(figure: HTMLElement, error: unknown): void {
  console.error(`figure ${figure.dataset.spec}: ${String(error)}`);
}
