// Specifications of figures that a page has as gzip in base64 (crates/web/src/html/figures.rs), as the text that they are of.

async function text(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

export async function unpackSpecifications(page: Document): Promise<void> {
  const packed = page.querySelectorAll<HTMLElement>("script[type='application/gzip'][id^='spec-']");
  await Promise.all(
    [...packed].map(async (script) => {
      script.textContent = await text(script.textContent ?? "");
    }),
  );
}
