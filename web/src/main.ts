// One script for two places. In a page it draws every figure; anywhere else it waits to be called.
import "./bare";
import { svg } from "./draw";
import { drawPage } from "./page";

Object.assign(globalThis, { delaylab: { svg } });

if (typeof document !== "undefined") {
  drawPage(document);
}
