// Events of the server, for as long as the page is seen. A browser tries again by itself where a connection breaks, at the
// address of then, and gives up where the server answers with an error, as it does while it has too many readers.

export const AGAIN_MS = 2_000;

export interface Listening {
  // By the name of the event, with its data.
  events: Record<string, (data: string) => void>;
  lost?: () => void;
}

// Listens at the address of the time at which it connects, until the function that it returns is called.
export function listen(address: () => string, { events, lost }: Listening): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const close = () => {
    clearTimeout(timer);
    source?.close();
  };
  const open = () => {
    const opened = new EventSource(address());
    source = opened;
    for (const [name, take] of Object.entries(events)) {
      opened.addEventListener(name, (event: MessageEvent<string>) => take(event.data));
    }
    opened.addEventListener("error", () => {
      lost?.();
      close();
      timer = setTimeout(open, AGAIN_MS);
    });
  };
  // A browser has six connections to a host for all its pages together: one that is hidden leaves its own to the others.
  const seen = () => {
    close();
    if (!document.hidden) {
      open();
    }
  };
  document.addEventListener("visibilitychange", seen);
  seen();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    close();
  };
}
