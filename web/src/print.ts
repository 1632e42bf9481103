// A figure by itself on a sheet of its size, through the browser's print dialog: "Save as PDF" makes a PDF of it, which
// no script has to draw.

const SHEET = "sheet";

export function printAlone(page: Document, svg: string): void {
  const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const sheet = page.createElement("div");
  sheet.className = SHEET;
  sheet.append(page.importNode(drawn, true));
  page.body.append(sheet);
  // The page's own sheet of styles is the one that its security policy lets a rule into.
  const styles = page.styleSheets[0];
  const size = `${drawn.getAttribute("width")}px ${drawn.getAttribute("height")}px`;
  const rule = styles?.insertRule(`@page { size: ${size}; margin: 0; }`, styles.cssRules.length);
  const clear = () => {
    sheet.remove();
    if (styles && rule !== undefined) {
      styles.deleteRule(rule);
    }
  };
  const window = page.defaultView;
  window?.addEventListener("afterprint", clear, { once: true });
  window?.print();
}
