// What a cell says, as a number in the unit in which such values are kept: `1.25 ms` is 1,250,000 ns.

export type Quantity = { value: number; unit: string };

const UNITS: Record<string, [size: number, unit: string]> = {
  ns: [1, "ns"], "µs": [1e3, "ns"], us: [1e3, "ns"], ms: [1e6, "ns"], s: [1e9, "ns"], min: [60e9, "ns"], h: [3600e9, "ns"],
  B: [1, "bytes"], KiB: [1024, "bytes"], MiB: [1 << 20, "bytes"], GiB: [1 << 30, "bytes"], kB: [1e3, "bytes"], MB: [1e6, "bytes"],
  "bit/s": [1, "bit_per_s"], "kbit/s": [1e3, "bit_per_s"], "Mbit/s": [1e6, "bit_per_s"], "Gbit/s": [1e9, "bit_per_s"],
  "%": [1, "percent"],
};

const NUMBER = /^([<>]?)\s*([-−+]?)([\d,]*\.?\d+(?:e[-−]?\d+)?)\s*([^\d\s]*)/;

// Next to a bound, and closer than what could be told from it in a cell.
const NEXT: Record<string, number> = { "<": 1 - 1e-9, ">": 1 + 1e-9 };

// How much a cell says that begins with a number, as in `1.25 ms`, `7,200` or `3 % of 20`. `<1%` is a little less than `1%`.
export function size(text: string): number | undefined {
  const found = text.trim().match(NUMBER);
  const value = read(found)?.value;
  return value === undefined ? undefined : value * (NEXT[found?.[1] ?? ""] ?? 1);
}

// The same where a cell says nothing else. Of a bound, as in `<1%`, it is the bound.
export function quantity(text: string): Quantity | undefined {
  const found = text.trim().match(NUMBER);
  const unit = found?.[4] ?? "";
  const isAll = found?.[0].length === text.trim().length && (unit === "" || unit in UNITS);
  return isAll ? read(found) : undefined;
}

function read(found: RegExpMatchArray | null | undefined): Quantity | undefined {
  const [, , sign, digits, name] = found ?? [];
  if (digits === undefined) {
    return undefined;
  }
  const [factor, unit] = UNITS[name ?? ""] ?? [1, ""];
  // 12.3 µs is 12,300 ns, and not 12,300.000000000002.
  const value = Number((Number(digits.replaceAll(",", "").replace("−", "-")) * factor).toPrecision(15));
  return { value: sign === "-" || sign === "−" ? -value : value, unit };
}
