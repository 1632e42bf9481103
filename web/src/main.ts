// One script for three places: a report on disk, a page of `delaylab serve`, and an engine without a
// page, which calls it.
import "./bare";
import { svg } from "./draw";
import { unpackSpecifications } from "./gzip";
import { startPage } from "./page";

Object.assign(globalThis, { delaylab: { svg } });

if (typeof document !== "undefined") {
  void unpackSpecifications(document).then(() => startPage(document));
}
