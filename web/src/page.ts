// Draws the figures of a page in place of their still pictures. A figure is
// <figure data-spec="ID"><div class="drawing">…</div><figcaption>…</figcaption></figure>
// with its specification in the JSON script of that ID.
import { view, type Spec } from "./draw";
import { Tooltip } from "./tooltip";

const SAVED = 10_000; // milliseconds after which a browser has surely taken what it saves

export function drawPage(page: Document): void {
  const tooltip = new Tooltip(page);
  for (const figure of page.querySelectorAll<HTMLElement>("figure[data-spec]")) {
    draw(figure, tooltip).catch((error: unknown) => {
      console.error(`figure ${figure.dataset.spec}: ${String(error)}`);
    });
  }
}

async function draw(figure: HTMLElement, tooltip: Tooltip): Promise<void> {
  const id = figure.dataset.spec ?? "";
  const page = figure.ownerDocument;
  const place = figure.querySelector<HTMLElement>(".drawing");
  const text = page.getElementById(id)?.textContent;
  if (!place || !text) {
    throw new Error("has no place or no specification");
  }
  const spec = JSON.parse(text) as Spec;
  const fresh = page.createElement("div");
  const drawn = view(spec, { renderer: "svg", container: fresh, hover: true });
  drawn.tooltip(tooltip.handler);
  await drawn.runAsync();
  place.replaceChildren(...fresh.childNodes);
  figure.append(downloads(page, id, spec));
  figure.dataset.drawn = "true";
}

function downloads(page: Document, name: string, spec: Spec): HTMLElement {
  const bar = page.createElement("p");
  bar.className = "downloads";
  bar.append(
    button(page, "SVG", async () => save(page, `${name}.svg`, await asSvg(spec))),
    button(page, "PNG", async () => save(page, `${name}.png`, await asPng(spec))),
  );
  return bar;
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

// Saved figures stand alone: on white, whatever the page's colours.
const onWhite = (spec: Spec): Spec => ({ ...spec, background: "white" });

async function asSvg(spec: Spec): Promise<Blob> {
  const text = await view(onWhite(spec), { renderer: "none" }).toSVG();
  return new Blob([text], { type: "image/svg+xml" });
}

async function asPng(spec: Spec): Promise<Blob> {
  const canvas = await view(onWhite(spec), { renderer: "none" }).toCanvas(2);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}

function save(page: Document, name: string, blob: Blob): void {
  const link = page.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED);
}
