/** Waits; an aborted signal ends the wait with its reason. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", abort, { once: true });
    function done(): void {
      signal?.removeEventListener("abort", abort);
      resolve();
    }
    function abort(): void {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    }
  });
}

/** A random part of an exponential delay, so that clients that failed together do not come back together. */
export const backoffMs = (attempt: number, baseMs: number, maxMs: number): number =>
  Math.random() * Math.min(maxMs, baseMs * 2 ** attempt);

/** A signal that aborts with the caller's, or if `end` is not called in time. */
export function timeLimit(
  ms: number,
  signal?: AbortSignal,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException("The answer did not come in time.", "TimeoutError")), ms);
  return {
    signal: signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]),
    end: () => clearTimeout(timer),
  };
}
