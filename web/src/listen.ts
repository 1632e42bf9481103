// Events of the server, for as long as the page is open. A browser tries again by itself where a connection breaks, and gives
// up where the server answers with an error, as it does while it has too many readers.

const AGAIN_MS = 2_000;

export interface Listening {
  // By the name of the event, with its data.
  events: Record<string, (data: string) => void>;
  // The connection is there again: what happened meanwhile was not told.
  again?: () => void;
  lost?: () => void;
}

// Listens at this address until the function that it returns is called.
export function listen(address: string, { events, again, lost }: Listening): () => void {
  let was_open = false;
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    source = new EventSource(address);
    for (const [name, take] of Object.entries(events)) {
      source.addEventListener(name, (event: MessageEvent<string>) => take(event.data));
    }
    source.addEventListener("open", () => {
      if (was_open) {
        again?.();
      }
      was_open = true;
    });
    source.addEventListener("error", () => {
      lost?.();
      if (source.readyState === EventSource.CLOSED) {
        timer = setTimeout(open, AGAIN_MS);
      }
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
