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

// Takes the list of runs from the server again whenever it says that it is another than that of this page.
function follow(runs: HTMLElement): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  const changed = () => {
    clearTimeout(timer);
    // An older answer may come after a newer one.
    const number = ++latest;
    refresh(runs, () => number === latest).catch((error: unknown) => {
      runs.ownerDocument.querySelector("#count")?.replaceChildren(`${String(error)}; trying again.`);
      timer = setTimeout(changed, AGAIN_MS);
    });
  };
  listen(() => runs.dataset.changes ?? "", { events: { changed } });
}

// What a link or a box of the list is, however often the list is made anew.
function key(element: Element | null): string | undefined {
  const inside = element?.closest("[data-changes] tbody") ? element : null;
  return inside?.getAttribute("href") ?? inside?.getAttribute("value") ?? undefined;
}

async function refresh(runs: HTMLElement, isLatest: () => boolean): Promise<void> {
  const answer = await fetch(location.href);
  if (!answer.ok) {
    throw new Error(`the server says ${answer.status} instead of the list`);
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!isLatest()) {
    return;
  }
  const list = fresh.querySelector<HTMLElement>("[data-changes]");
  const body = list?.querySelector("tbody");
  const count = fresh.querySelector("#count");
  const chosen = new Set([...runs.querySelectorAll<HTMLInputElement>("input:checked")].map((box) => box.value));
  for (const box of body?.querySelectorAll<HTMLInputElement>("input") ?? []) {
    box.checked = chosen.has(box.value);
  }
  if (body) {
    const focused = key(runs.ownerDocument.activeElement);
    runs.querySelector("tbody")?.replaceWith(body);
    runs.dataset.changes = list?.dataset.changes;
    runs.querySelector("table")?.dispatchEvent(new Event("renewed"));
    const same = [...body.querySelectorAll<HTMLElement>("a, input")].find((element) => key(element) === focused);
    same?.focus();
    runs.ownerDocument.querySelector("#count")?.replaceChildren(...(count?.childNodes ?? []));
  } else {
    location.reload();
  }
}
