import { useSyncExternalStore } from "react";
import { wait } from "../../../packages/sdk/src/wait.ts";

/**
 * Pauses of requests that the platform asked for by `Retry-After`, such as a minute after too many requests. A short
 * one is not told. The person sees until when a long one lasts, and can end all of them.
 */
interface Pause {
  readonly untilMs: number;
  readonly end: () => void;
}

const TOLD_FROM_MS = 2_000;

const pauses = new Set<Pause>();
/** When the last of them ends; undefined without any. */
let untilMs: number | undefined;
const listeners = new Set<() => void>();

function tell(): void {
  untilMs = pauses.size === 0 ? undefined : Math.max(...Array.from(pauses, (one) => one.untilMs));
  for (const listener of listeners) listener();
}

/** In place of the transport's own pause. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms < TOLD_FROM_MS) return wait(ms, signal);
  const ended = new AbortController();
  const told = { untilMs: Date.now() + ms, end: () => ended.abort() };
  pauses.add(told);
  tell();
  try {
    await wait(ms, signal === undefined ? ended.signal : AbortSignal.any([ended.signal, signal]));
  } catch (thrown) {
    if (!ended.signal.aborted) throw thrown;
  } finally {
    pauses.delete(told);
    tell();
  }
}

export const endPauses = (): void => {
  for (const { end } of pauses) end();
};

export const usePausedUntil = (): number | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => untilMs,
  );
