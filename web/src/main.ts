// One script for three places: a report on disk, a page of `delaylab serve`, and an engine without a
// page, which calls it.
import "./bare";
import { columns } from "./columns";
import { svg } from "./draw";
import { unpackSpecifications } from "./gzip";
import { narrow } from "./narrow";
import { startPage } from "./page";
import { size } from "./quantity";

// The engine draws; the others are for tests, which have no page.
Object.assign(globalThis, { delaylab: { svg, columns, narrow, size } });

if (typeof document !== "undefined") {
  void unpackSpecifications(document).then(() => startPage(document));
}
