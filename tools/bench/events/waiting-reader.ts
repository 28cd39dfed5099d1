import type { Plinth } from "./plinth.ts";

/** The time that a read waits, in seconds: the most that the platform takes. */
export const WAIT_SEC = 30;

/** An event at its reader. */
export interface Delivery {
  readonly askedAtMs: number;
  readonly atMs: number;
}

/** The topic and the identity of a reader. */
export interface Place {
  readonly headers: Readonly<Record<string, string>>;
  readonly paths: { readonly read: string; readonly commit: string };
  /** A named consumer of the client. */
  readonly consumer?: string;
}

/** A reader by `fetch`: the studies count milliseconds, and hold thousands of requests open. */
export function readerOf({ origin }: Plinth, { headers, paths, consumer }: Place) {
  const as = { ...headers, ...(consumer !== undefined && { consumer }), "content-type": "application/json" };
  const post = (path: string, json: unknown, more: Record<string, string> = {}, signal: AbortSignal | null = null) =>
    fetch(`${origin}${path}`, { method: "POST", headers: { ...as, ...more }, body: JSON.stringify(json), signal });
  const deliver = async (more: Record<string, string>, leaving?: AbortSignal): Promise<Delivery> => {
    for (;;) {
      const askedAtMs = performance.now();
      const response = await post(paths.read, { numEvents: 1 }, more, leaving);
      const body = await response.text();
      const atMs = performance.now();
      // The wait ended without an event, so the client waits again.
      if (response.status === 204 && more["prefer"] !== undefined) continue;
      if (response.status !== 200) throw new Error(`a read: ${response.status} ${body}`);
      const { token } = JSON.parse(body) as { token: string };
      await (await post(paths.commit, { token })).arrayBuffer();
      return { askedAtMs, atMs };
    }
  };
  return {
    /** Reads, commits, and returns when the event was there. */
    read: () => deliver({}),
    /** Reads, and expects no event. */
    readNothing: async () => {
      const { status } = await post(paths.read, { numEvents: 1 });
      if (status !== 204) throw new Error(`a read of nothing: ${status}`);
    },
    /** Like `read`, but waits for an event. */
    wait: (leaving?: AbortSignal) => deliver({ prefer: `wait=${WAIT_SEC}` }, leaving),
  };
}
