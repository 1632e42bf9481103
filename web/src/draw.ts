// From a Vega-Lite specification to a Vega view.
import { loader, parse, View, type ViewOptions } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";

export type Spec = TopLevelSpec;

// Figures carry their data. Whatever asks for more is refused.
const closed = loader();
closed.load = () => Promise.reject(new Error("figures load nothing"));

// A page forbids `eval`, so that expressions are interpreted there. Where there is no page they are compiled: a third of the
// time is saved.
const interpreted = typeof document !== "undefined";
const expressions: ViewOptions = interpreted ? { expr: expressionInterpreter } : {};

export function view(spec: Spec, options: ViewOptions): View {
  const runtime = parse(compile(spec).spec, undefined, { ast: interpreted });
  return new View(runtime, { ...expressions, loader: closed, ...options });
}

// The figure as an SVG document. Needs no DOM.
export async function svg(spec: string): Promise<string> {
  const drawn = view(JSON.parse(spec) as Spec, { renderer: "none" });
  const text = await drawn.toSVG();
  drawn.finalize();
  return text.replace(/<[^>]*>/g, shorter);
}

// A hundredth of a pixel is enough, and what goes without saying need not be said.
const shorter = (tag: string) =>
  tag
    .replace(/ (?:d|transform|[xy][12]?|width|height)="[^"]*"/g, (place) => place.replace(/(\.\d\d)\d+/g, "$1"))
    .replace(' opacity="1"', "");
