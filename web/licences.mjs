// The licences of everything that a script was made of, as the comment that it begins with.
import { readdir, readFile } from "node:fs/promises";
import { relative } from "node:path";

// The folders of the packages that something was taken from.
function packages(modules) {
  const folder = /^node_modules\/(?:@[^/]+\/)?[^/]+/;
  const paths = modules.map((path) => relative(process.cwd(), path));
  const folders = paths.map((path) => path.match(folder)?.[0]);
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
export async function licences(modules) {
  const names = new Map();
  for (const folder of packages(modules)) {
    const text = await licence(folder);
    names.set(text, [...(names.get(text) ?? []), folder.replace("node_modules/", "")]);
  }
  const notices = [...names].map(([text, of]) => `${of.join(", ")}:\n\n${text}`);
  return `/*\nThis script contains the following software.\n\n${notices.join("\n\n--\n\n")}\n*/\n`;
}
