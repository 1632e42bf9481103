// The x axes of a specification that can be zoomed: those that it binds to a selection.
import type { Keep, Row } from "./packed";
import type { Range } from "./zoom";

export interface Axis {
  // What Vega calls the range that is shown.
  signal: string;
  fields: string[];
  // Of which rows it is.
  of: Keep;
  scale: Scale;
}

// Values as places on an axis, where what looks equally long is.
interface Scale {
  place(value: number): number;
  value(place: number): number;
}

interface Unit {
  params?: { name: string; bind?: unknown }[];
  transform?: { filter?: unknown }[];
  encoding?: Record<string, Channel>;
  spec?: Unit;
  layer?: Unit[];
  vconcat?: Unit[];
  hconcat?: Unit[];
}

interface Channel {
  field?: string;
  scale?: { type?: string; constant?: number };
}

// Vega-Lite calls the signal that holds what is shown after the selection and the field.
export function zoomAxes(spec: unknown, above: Keep = () => true): Axis[] {
  const unit = spec as Unit;
  const own = (unit.transform ?? []).map((step) => equal(step.filter));
  const of = (row: Row) => above(row) && own.every((keeps) => keeps(row));
  const params = [...(unit.params ?? []), ...(unit.layer?.[0]?.params ?? [])];
  const name = params.find((param) => param.bind === "scales")?.name;
  const x = unit.encoding?.x;
  if (name !== undefined && x?.field !== undefined) {
    const x2 = unit.encoding?.x2?.field ?? unit.layer?.[0]?.encoding?.x2?.field;
    const fields = [x.field, x2].filter((name) => name !== undefined);
    return [{ signal: `${name}_${x.field}`, fields, of, scale: scaleOf(x) }];
  }
  const inner = [...(unit.vconcat ?? []), ...(unit.hconcat ?? []), ...(unit.spec ? [unit.spec] : [])];
  return inner.flatMap((unit) => zoomAxes(unit, of));
}

// What a filter of one value keeps. Charts with any other one are over the same axis as their neighbours.
function equal(filter: unknown): Keep {
  const { field, equal } = (filter ?? {}) as { field?: string; equal?: unknown };
  return field === undefined ? () => true : (row) => row[field] === equal;
}

function scaleOf({ scale }: Channel): Scale {
  const linear = scale?.constant ?? 1; // of a symmetric axis, up to where it is linear
  switch (scale?.type) {
    case "log":
      return { place: Math.log, value: Math.exp };
    case "symlog":
      return {
        place: (value) => Math.sign(value) * Math.log1p(Math.abs(value) / linear),
        value: (place) => Math.sign(place) * Math.expm1(Math.abs(place)) * linear,
      };
    default:
      return { place: (value) => value, value: (place) => place };
  }
}

// The least and the most in any of these fields.
export function extent(rows: Row[], fields: string[]): Range {
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
