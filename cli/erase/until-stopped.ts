import type { AdminClient } from "../client/admin-client.ts";
import { asFetch } from "../client/send.ts";
import { Interrupted } from "../terminal/stop.ts";

/** The same client until the signal. Then a call that is under way comes to its end, and the next one throws. */
export function untilStopped<Client extends AdminClient>(client: Client, signal: AbortSignal): Client {
  const { fetch: ask = globalThis.fetch } = client.opts;
  const askUnlessStopped = asFetch((url, request) => {
    throwIfStopped(signal);
    return ask(url, request);
  });
  return { ...client, opts: { ...client.opts, fetch: askUnlessStopped } };
}

export function throwIfStopped({ aborted }: AbortSignal): void {
  if (aborted) throw new Interrupted("Stopped. Repeat the command: it goes on where it was.");
}
