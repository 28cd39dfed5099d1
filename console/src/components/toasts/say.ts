import { useSyncExternalStore } from "react";

/** True once there was a message; the code of the messages is loaded with the first one. */
let isNeeded = false;
const listeners = new Set<() => void>();

async function add(text: string, kind: "done" | "failed", timeout?: number): Promise<void> {
  isNeeded = true;
  for (const listener of listeners) listener();
  const { queue } = await import("./toast-queue.ts");
  queue.add({ text, kind }, timeout === undefined ? {} : { timeout });
}

/** Messages. A success disappears by itself. A failure is shown where it happened, or stays until it is closed. */
export const say = {
  done: (text: string) => void add(text, "done", 5_000),
  /** A success that somebody has to know of. */
  lasting: (text: string) => void add(text, "done"),
  failed: (text: string) => void add(text, "failed"),
};

export const useSomethingSaid = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => isNeeded,
  );
