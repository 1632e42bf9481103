// A table as programs read one: a column of quantities is one of numbers in one unit, which its name ends with; what has
// no value there has none. Quantities of several units are a column for each, and intervals one for each end.
import { quantity } from "./quantity";

export type Column = { name: string; numbers?: (number | null)[]; texts: string[] };

const NOTHING = ["", "–", "no end"];
const BETWEEN = " to "; // the ends of an interval

// Of rows of text, heads first.
export function columns([heads = [], ...rows]: string[][]): Column[] {
  return names(heads).flatMap((name, k) => column(name, rows.map((row) => row[k] ?? "")));
}

// Each its own: one that stands there twice belongs to the column before it.
function names(heads: string[]): string[] {
  const isTwice = (name: string) => heads.filter((head) => head === name).length > 1;
  const made: string[] = [];
  heads.forEach((head, k) => {
    const before = heads[k - 1];
    const name = isTwice(head) && before ? `${before} ${head}` : head || "column";
    made.push(made.includes(name) ? `${name} ${k + 1}` : name);
  });
  return made;
}

function column(name: string, texts: string[]): Column[] {
  const known = texts.filter((text) => !NOTHING.includes(text));
  if (known.length > 0 && known.every(isInterval)) {
    const end = (k: number) => texts.map((text) => (isInterval(text) ? text.split(BETWEEN)[k] ?? "" : ""));
    return [...column(`${name} from`, end(0)), ...column(`${name} to`, end(1))];
  }
  const cells = texts.map((text) => (NOTHING.includes(text) ? undefined : quantity(text)));
  const units = [...new Set(cells.flatMap((cell) => cell?.unit ?? []))];
  if (units.length === 0 || cells.filter((cell) => cell).length < known.length) {
    return [{ name, texts }];
  }
  return units.map((unit) => {
    const numbers = cells.map((cell) => (cell?.unit === unit ? cell.value : null));
    return { name: unit === "" ? name : `${name} ${unit}`, numbers, texts };
  });
}

// `+0.90 ms to no end`.
function isInterval(text: string): boolean {
  const ends = text.split(BETWEEN);
  return ends.length === 2 && ends.every((end) => NOTHING.includes(end) || quantity(end));
}
