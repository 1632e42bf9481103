// A figure where there is little room, as on a telephone: panels below each other, each as wide as the page.
import type { Spec } from "./draw";

// Pixels below which a figure is drawn so.
export const NARROW = 480;

const AXIS = 76; // pixels beside a panel for its axis
const LEAST = 120; // pixels that a panel has at least

type Part = Record<string, unknown>;

export function narrow(spec: Spec, room: number): Spec {
  return part(spec as unknown as Part, room) as unknown as Spec;
}

// What stands beside a named panel is below it now, and far from its name: it has one of its own.
function named(spec: Part): Part {
  const { header, ...facet } = (spec.facet ?? {}) as Part;
  const isBlank = (header as Part | undefined)?.labelExpr === "' '";
  return isBlank ? { ...spec, facet } : spec;
}

function part(spec: Part, room: number): Part {
  const { hconcat, vconcat, ...rest } = spec;
  const parts = (hconcat ?? vconcat) as Part[] | undefined;
  if (parts) {
    return { ...rest, vconcat: parts.map((each) => part(named(each), room)) };
  }
  const config = spec.config as Part | undefined;
  const legend = { ...(config?.legend as Part | undefined), columns: 2, labelLimit: room / 2 - 40 };
  const made: Part = config ? { ...spec, config: { ...config, legend } } : { ...spec };
  if (spec.facet && spec.spec) {
    if (spec.columns !== undefined) {
      made.columns = 1;
      // Far below, an axis for all of them is not seen.
      const resolve = spec.resolve as Part | undefined;
      made.resolve = { ...resolve, axis: { ...(resolve?.axis as Part | undefined), x: "independent" } };
    }
    made.spec = sized(spec.spec as Part, room);
    return made;
  }
  return sized(made, room);
}

// Names of bars take less of the room.
function sized(spec: Part, room: number): Part {
  const encoding = spec.encoding as Record<string, Part> | undefined;
  const y = encoding?.y;
  const isNamed = y?.type === "nominal";
  const names = isNamed ? 110 : 0;
  const width = Math.max(LEAST, room - AXIS - names);
  const color = encoding?.color;
  const legend = color?.legend as Part | undefined;
  if (encoding && color && legend?.columns !== undefined) {
    // As many columns as the configuration has, which fits.
    const { columns: _, ...others } = legend;
    return sized({ ...spec, encoding: { ...encoding, color: { ...color, legend: others } } }, room);
  }
  const fits = typeof spec.width === "number" ? { width } : {};
  if (!isNamed || !y) {
    return { ...spec, ...fits };
  }
  const axis = { ...(y.axis as Part | undefined), labelLimit: names };
  return { ...spec, ...fits, encoding: { ...encoding, y: { ...y, axis } } };
}
