// Builds dist/figures.js: one script without imports, for a browser and for a bare JavaScript engine.
import { defineConfig } from "vite";
import { licences } from "./licences.mjs";
import { vars } from "./vars.mjs";

// The report has the script inline: nothing in it may end the element or begin another.
const inline = (code) => code.replace(/<(\/script|script|!--)/gi, "\\x3C$1");

// Last of all: the script begins with the licences of everything in it.
const finish = {
  name: "finish",
  enforce: "post",
  async generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      chunk.code = (await licences(Object.keys(chunk.modules))) + inline(chunk.code);
    }
  },
};

export default defineConfig({
  plugins: [vars, finish],
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2020",
    minify: true,
    copyPublicDir: false,
    reportCompressedSize: false,
    lib: { entry: "src/main.ts", name: "delaylabScript", formats: ["iife"], fileName: () => "figures.js" },
  },
  logLevel: "warn",
});
