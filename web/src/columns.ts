// A table as programs read one: a column of quantities is one of numbers in one unit, which its name ends with; what has
// no value there has none.
import { quantity } from "./quantity";

export type Column = { name: string; numbers?: (number | null)[]; texts: string[] };

const NOTHING = ["", "–"];

// Of rows of text, heads first.
export function columns([heads = [], ...rows]: string[][]): Column[] {
  return heads.map((name, k) => column(name, rows.map((row) => row[k] ?? "")));
}

function column(name: string, texts: string[]): Column {
  const known = texts.filter((text) => !NOTHING.includes(text)).map(quantity);
  const [first] = known;
  if (first === undefined || known.some((cell) => cell?.unit !== first.unit)) {
    return { name, texts };
  }
  const numbers = texts.map((text) => quantity(text)?.value ?? null);
  return { name: first.unit === "" ? name : `${name} ${first.unit}`, numbers, texts };
}
