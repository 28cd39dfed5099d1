import { useSyncExternalStore } from "react";
import type { NewClientSecret } from "../../../../api/plinth.ts";

/** A secret to show; `previousExpiresAt` if it replaces another one. */
export type Secret = Pick<NewClientSecret, "clientSecret"> & Partial<NewClientSecret>;

/**
 * Secrets that came when their person had left the page. The page of the application shows them, once. They are in this
 * window's memory alone, so the browser asks before it is closed.
 */
let unseen: ReadonlyMap<string, Secret> = new Map();
const listeners = new Set<() => void>();

export const keepSecret = (clientId: string, secret: Secret): void => change(new Map(unseen).set(clientId, secret));

export const forgetSecret = (clientId: string): void =>
  change(new Map([...unseen].filter(([other]) => other !== clientId)));

export const useUnseenSecret = (clientId: string): Secret | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => unseen.get(clientId),
  );

const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

function change(next: ReadonlyMap<string, Secret>): void {
  unseen = next;
  if (next.size > 0) addEventListener("beforeunload", ask);
  else removeEventListener("beforeunload", ask);
  for (const listener of listeners) listener();
}
