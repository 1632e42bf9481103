// Saving a figure as it is shown: the filter holds, the zoom does not.
import { view, type Spec } from "./draw";
import { printAlone } from "./print";

const SAVED = 10_000; // milliseconds after which a browser has surely taken what it saves

export function downloads(page: Document, name: string, spec: () => Spec): HTMLElement[] {
  return [
    button(page, "SVG", async () => save(page, `${name}.svg`, await asSvg(spec()))),
    button(page, "PNG", async () => save(page, `${name}.png`, await asPng(spec()))),
    button(page, "PDF", async () => printAlone(page, await svg(spec()))),
    // With its data: any Vega-Lite editor draws it.
    button(page, "Vega-Lite", async () => save(page, `${name}.vl.json`, asJson(spec()))),
  ];
}

function button(page: Document, label: string, action: () => Promise<void>): HTMLElement {
  const made = page.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.title = `Save this figure as ${label}`;
  made.addEventListener("click", () => {
    action().catch((error: unknown) => console.error(String(error)));
  });
  return made;
}

// Saved figures stand alone: on white, whatever the page's colours, and they say what they are, and of which run.
function alone(spec: Spec): Spec {
  const { title, run } = (spec.usermeta ?? {}) as { title?: string[]; run?: string };
  return { ...spec, background: "white", title: { text: title ?? "", subtitle: run ?? "" } };
}

const asJson = (spec: Spec): Blob => new Blob([JSON.stringify(alone(spec), null, 1)], { type: "application/json" });

const svg = (spec: Spec): Promise<string> => view(alone(spec), { renderer: "none" }).toSVG();

async function asSvg(spec: Spec): Promise<Blob> {
  return new Blob([await svg(spec)], { type: "image/svg+xml" });
}

async function asPng(spec: Spec): Promise<Blob> {
  const canvas = await view(alone(spec), { renderer: "none" }).toCanvas(2);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}

export function save(page: Document, name: string, blob: Blob): void {
  const link = page.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED);
}
