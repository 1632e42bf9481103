// What only a served page has: runs as they appear, a run in progress, and long series.
import { AGAIN_MS, listen } from "./listen";
import { LongSeries } from "./long";
import { Live } from "./live";

export function serve(page: Document): void {
  for (const figure of page.querySelectorAll<HTMLElement>("figure[data-window]")) {
    new LongSeries(figure).start();
  }
  for (const section of page.querySelectorAll<HTMLElement>("section[data-progress]")) {
    new Live(section).start();
  }
  const runs = page.querySelector<HTMLElement>("[data-changes]");
  if (runs) {
    follow(runs);
  }
}

// Takes the list of runs from the server again whenever it says that it is another than that of this page. One answer after
// the other: where lists change sooner than they come, each that comes is shown.
function follow(runs: HTMLElement): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOutdated = false;
  let isUnderWay = false;
  const changed = () => {
    clearTimeout(timer);
    isOutdated = true;
    if (!isUnderWay) {
      void renew();
    }
  };
  const renew = async () => {
    isUnderWay = true;
    while (isOutdated) {
      isOutdated = false;
      await refresh(runs).catch((error: unknown) => {
        runs.ownerDocument.querySelector("#count")?.replaceChildren(`${String(error)}; trying again.`);
        clearTimeout(timer);
        timer = setTimeout(changed, AGAIN_MS);
      });
    }
    isUnderWay = false;
  };
  listen(() => runs.dataset.changes ?? "", { events: { changed } });
}

// What a link or a box of the list is, however often the list is made anew.
function key(element: Element | null): string | undefined {
  const inside = element?.closest("[data-changes] tbody") ? element : null;
  return inside?.getAttribute("href") ?? inside?.getAttribute("value") ?? undefined;
}

async function refresh(runs: HTMLElement): Promise<void> {
  const answer = await fetch(location.href);
  if (!answer.ok) {
    throw new Error(`the server says ${answer.status} instead of the list`);
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const list = fresh.querySelector<HTMLElement>("[data-changes]");
  const body = runs.querySelector("tbody");
  const news = list?.querySelector("tbody");
  if (!body || !news) {
    location.reload();
    return;
  }
  const page = runs.ownerDocument;
  const focused = key(page.activeElement);
  renew(body, news);
  runs.dataset.changes = list?.dataset.changes;
  runs.querySelector("table")?.dispatchEvent(new Event("renewed"));
  const same = [...body.querySelectorAll<HTMLElement>("a, input")].find((element) => key(element) === focused);
  if (same !== page.activeElement) {
    same?.focus();
  }
  page.querySelector("#count")?.replaceChildren(...(fresh.querySelector("#count")?.childNodes ?? []));
}

const boxOf = (row: HTMLTableRowElement): HTMLInputElement | null => row.querySelector("input");

// Makes the list what it is now. Rows that say the same stay: a click that began on one before ends on it, and what is
// selected in it is still.
function renew(body: HTMLTableSectionElement, fresh: HTMLTableSectionElement): void {
  const known = new Map([...body.rows].map((row) => [boxOf(row)?.value, row]));
  let last: HTMLTableRowElement | undefined;
  for (const row of [...fresh.rows]) {
    const box = boxOf(row);
    const old = known.get(box?.value);
    known.delete(box?.value);
    if (old?.isEqualNode(row)) {
      last = old;
      continue;
    }
    if (old && box) {
      box.checked = boxOf(old)?.checked ?? false;
    }
    if (old) {
      old.replaceWith(row);
    } else if (last) {
      last.after(row);
    } else {
      body.prepend(row);
    }
    last = row;
  }
  known.forEach((row) => row.remove());
}
