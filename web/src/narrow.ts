// A figure where there is little room, as on a telephone: panels below each other, each as wide as the page.
import type { Spec } from "./draw";

// Pixels below which a figure is drawn so.
export const NARROW = 480;

const AXIS = 76; // pixels beside a panel for its axis
const LEAST = 120; // pixels that a panel has at least
const NAMES = 150; // pixels for the names of bars
const LETTER = 7; // pixels of a letter
const LINE = 13; // pixels of a line of a name
const SYMBOL = 40; // pixels in front of a name in a legend, and between two

type Part = Record<string, unknown>;

// What a specification draws of.
type Rows = Record<string, unknown>[];

export function narrow(spec: Spec, room: number): Spec {
  const whole = spec as unknown as Part;
  const rows = ((whole.data as Part | undefined)?.values ?? []) as Rows;
  return part(whole, { room, rows, columns: legendColumns(whole, room) }) as unknown as Spec;
}

interface Place {
  room: number;
  rows: Rows;
  columns: number;
}

// Two, but one where a name would be cut.
function legendColumns(spec: Part, room: number): number {
  const names = Object.entries(spec).flatMap(([name, value]) => (name === "color" ? domain(value as Part) : []));
  const isLong = names.some((name) => name.length * LETTER > room / 2 - SYMBOL);
  const inner = Object.entries(spec).flatMap(([name, value]) => (name === "data" ? [] : parts(value)));
  return isLong || inner.some((each) => legendColumns(each, room) === 1) ? 1 : 2;
}

const domain = (color: Part | undefined): string[] => ((color?.scale as Part | undefined)?.domain ?? []) as string[];

const parts = (value: unknown): Part[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is Part => typeof each === "object" && each !== null);

// What stands beside a named panel is below it now, and far from its name: it has one of its own.
function named(spec: Part): Part {
  const { header, ...facet } = (spec.facet ?? {}) as Part;
  const isBlank = (header as Part | undefined)?.labelExpr === "' '";
  return isBlank ? { ...spec, facet } : spec;
}

function part(spec: Part, place: Place): Part {
  const { hconcat, vconcat, ...rest } = spec;
  const parts = (hconcat ?? vconcat) as Part[] | undefined;
  if (parts) {
    return { ...rest, vconcat: parts.map((each) => part(named(each), place)) };
  }
  const config = spec.config as Part | undefined;
  const legend = { ...(config?.legend as Part | undefined), columns: place.columns, labelLimit: place.room / place.columns - SYMBOL };
  const made: Part = config ? { ...spec, config: { ...config, legend } } : { ...spec };
  if (spec.facet && spec.spec) {
    if (spec.columns !== undefined) {
      made.columns = 1;
      // Far below, an axis for all of them is not seen.
      const resolve = spec.resolve as Part | undefined;
      made.resolve = { ...resolve, axis: { ...(resolve?.axis as Part | undefined), x: "independent" } };
    }
    made.spec = sized(spec.spec as Part, place);
    return made;
  }
  return sized(made, place);
}

// Names of bars take less of the room, in as many lines as they need.
function sized(spec: Part, place: Place): Part {
  const encoding = spec.encoding as Record<string, Part> | undefined;
  const y = encoding?.y;
  const isNamed = y?.type === "nominal";
  const names = isNamed ? NAMES : 0;
  const width = Math.max(LEAST, place.room - AXIS - names);
  const color = encoding?.color;
  const legend = color?.legend as Part | undefined;
  if (encoding && color && legend?.columns !== undefined) {
    // As many columns as the configuration has, which fits.
    const { columns: _, ...others } = legend;
    return sized({ ...spec, encoding: { ...encoding, color: { ...color, legend: others } } }, place);
  }
  const fits = typeof spec.width === "number" ? { width } : {};
  if (!isNamed || !y) {
    return { ...spec, ...fits };
  }
  const texts = new Set(place.rows.map((row) => row[String(y.field)]).filter((text): text is string => typeof text === "string"));
  const lines = Object.fromEntries([...texts].map((text) => [text, wrapped(text, names / LETTER)]));
  const most = Math.max(1, ...Object.values(lines).map((each) => each.length));
  const labels = { labelExpr: `(${JSON.stringify(lines)})[datum.value]`, labelLineHeight: LINE };
  const axis = { ...(y.axis as Part | undefined), labelLimit: names, ...(most > 1 ? labels : {}) };
  const step = (spec.height as Part | undefined)?.step;
  const height = typeof step === "number" ? { height: { step: Math.max(step, most * LINE + 6) } } : {};
  return { ...spec, ...fits, ...height, encoding: { ...encoding, y: { ...y, axis } } };
}

// In lines of this number of letters at most.
function wrapped(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && last.length + 1 + word.length <= letters) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}
