// Builds dist/figures.js: one script without imports, for a browser and for a bare JavaScript engine.
// It begins with the licences of everything in it, so every report that carries it carries them.
import { build } from "esbuild";
import { readdir, readFile, writeFile } from "node:fs/promises";

const { metafile, outputFiles } = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
  define: { "process.env.NODE_ENV": '"production"' },
});

// The folders of the packages that something was taken from.
function packages() {
  const folder = /^node_modules\/(?:@[^/]+\/)?[^/]+/;
  const folders = Object.keys(metafile.inputs).map((path) => path.match(folder)?.[0]);
  return [...new Set(folders.filter(Boolean))].sort();
}

async function licence(folder) {
  const files = await readdir(folder);
  const name = files.find((file) => /^licen[cs]e/i.test(file));
  if (!name) {
    throw new Error(`${folder} has no licence`);
  }
  const text = await readFile(`${folder}/${name}`, "utf8");
  return text.replaceAll("*/", "* /").replace(/\s+$/gm, "").trim();
}

// Each text once, under the names of all packages that have it.
async function licences() {
  const names = new Map();
  for (const folder of packages()) {
    const text = await licence(folder);
    names.set(text, [...(names.get(text) ?? []), folder.replace("node_modules/", "")]);
  }
  const notices = [...names].map(([text, of]) => `${of.join(", ")}:\n\n${text}`);
  return `/*\nThis script contains the following software.\n\n${notices.join("\n\n--\n\n")}\n*/\n`;
}

// The report has the script inline: nothing in it may end the element or begin another.
const script = outputFiles[0].text.replace(/<(\/script|script|!--)/gi, "\\x3C$1");
await writeFile("dist/figures.js", (await licences()) + script);
