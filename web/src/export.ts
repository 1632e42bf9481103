// Tables to take away: what is shown of one, as CSV and Parquet for programs, or as LaTeX with the rules of package booktabs.
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";
import { type Column, columns } from "./columns";
import { save } from "./save";

// Tables behind a click, and those of one row, are read where they are.
const LEAST_ROWS = 2;

export function exportable(page: Document): void {
  for (const table of page.querySelectorAll<HTMLTableElement>("section .wide > table")) {
    const name = table.closest("section")?.id ?? "table";
    if (table.closest("details") || table.tBodies[0] === undefined || table.tBodies[0].rows.length < LEAST_ROWS) {
      continue;
    }
    const tools = page.createElement("p");
    tools.className = "tools";
    tools.append(
      button(page, name, "CSV", () => save(page, `${name}.csv`, text(csv(columns(shown(table))), "text/csv"))),
      button(page, name, "Parquet", () => save(page, `${name}.parquet`, parquet(columns(shown(table))))),
      button(page, name, "LaTeX", () => save(page, `${name}.tex`, text(latex(shown(table), numeric(table)), "text/x-tex"))),
    );
    table.parentElement?.after(tools);
  }
}

function button(page: Document, name: string, label: string, action: () => void): HTMLElement {
  const made = page.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.title = `Save this table (${name}) as ${label}`;
  made.addEventListener("click", action);
  return made;
}

const text = (content: string, type: string): Blob => new Blob([content], { type });

// Rows that the filter leaves, heads first; a note below a row is none.
function shown(table: HTMLTableElement): string[][] {
  const rows = [...table.rows].filter((row) => !row.hidden && !row.classList.contains("note"));
  return rows.map((row) => [...row.cells].map((cell) => (cell.textContent ?? "").trim()));
}

function numeric(table: HTMLTableElement): boolean[] {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  return heads.map((head) => head.classList.contains("figures"));
}

function csv(columns: Column[]): string {
  const cell = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const heads = columns.map((column) => column.name);
  const rows = (columns[0]?.texts ?? []).map((_, k) => columns.map(({ numbers, texts }) => (numbers ? `${numbers[k] ?? ""}` : texts[k] ?? "")));
  return [heads, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function parquet(columns: Column[]): Blob {
  const source = ({ name, numbers, texts }: Column): ColumnSource =>
    numbers ? { name, data: numbers, type: "DOUBLE" } : { name, data: texts, type: "STRING" };
  return new Blob([parquetWriteBuffer({ columnData: columns.map(source) })], { type: "application/vnd.apache.parquet" });
}

const LATEX: Record<string, string> = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "$<$",
  ">": "$>$",
  "\u00a0": "~",
  "→": "$\\to$",
  "×": "$\\times$",
  "≈": "$\\approx$",
  "≤": "$\\le$",
  "≥": "$\\ge$",
  "±": "$\\pm$",
  "…": "\\dots{}",
  µ: "\\textmu{}",
  "−": "$-$",
  "–": "--",
};

function latex(rows: string[][], numbers: boolean[]): string {
  const cell = (value: string) =>
    value.replace(/[\\~^<>\u00a0→×≈≤≥±…µ−–&%$#_{}]/g, (letter) => LATEX[letter] ?? `\\${letter}`);
  const columns = numbers.map((isNumber) => (isNumber ? "r" : "l")).join("");
  // The end of the row before would take these for its own.
  const guarded = (cells: string) => (/^[[*]/.test(cells) ? `{}${cells}` : cells);
  const lines = rows.map((row) => `${guarded(row.map(cell).join(" & "))} \\\\`);
  const [heads, ...others] = lines;
  return [
    "% \\usepackage{booktabs}",
    `\\begin{tabular}{${columns}}`,
    "\\toprule",
    heads,
    "\\midrule",
    ...others,
    "\\bottomrule",
    "\\end{tabular}",
    "",
  ].join("\n");
}
