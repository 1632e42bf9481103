// What a bare JavaScript engine lacks and Vega asks for. Figures do not animate: whatever is put off
// runs with the next job, and nothing is repeated.
const bare = globalThis as unknown as Record<string, unknown>;

function provide(name: string, value: unknown): void {
  bare[name] ??= value;
}

const silent = () => {};

provide("console", { debug: silent, error: silent, info: silent, log: silent, warn: silent });
provide("setTimeout", (action: () => void) => void Promise.resolve().then(action));
provide("setInterval", silent);
provide("clearTimeout", silent);
provide("clearInterval", silent);
provide("structuredClone", (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown);
// uPlot asks for these when it is loaded; nothing is drawn with it here.
provide("Intl", {
  NumberFormat: class { format = String; },
  DateTimeFormat: class { resolvedOptions = () => ({ timeZone: "UTC" }); },
});
// hyparquet-writer makes these when it is loaded; no table is saved here.
provide("TextEncoder", class {});
provide("TextDecoder", class {});
