import { LIMITS } from "../../model/limits.ts";

/** How long one waits before it looks again. */
const POLL_MS = 50;

/**
 * Lets one gif at a time be worked on in an isolate, since each may take half of its memory. Those that wait look again
 * and again, for nothing that belongs to another request may be awaited: when that one is cancelled it never settles. For
 * the same reason a lease of which no sign was seen for `LIMITS.gifLeaseMs` is taken for lost.
 */
export class GifMutex {
  readonly #wait: (ms: number) => Promise<void>;
  #current: GifLease | undefined;

  constructor(wait: (ms: number) => Promise<void>) {
    this.#wait = wait;
  }

  /** Whoever acquires the lease releases it, whatever happens. */
  async acquire(): Promise<GifLease> {
    let [watched, signs, silentMs] = [this.#current, -1, 0];
    while (this.#current !== undefined) {
      // Looked at before the minute counts: of several that waited, another one may have begun just now.
      if (this.#current !== watched || watched.signs !== signs) {
        watched = this.#current;
        [signs, silentMs] = [watched.signs, 0];
      } else if (silentMs >= LIMITS.gifLeaseMs) break;
      await this.#wait(POLL_MS);
      silentMs += POLL_MS;
    }
    const lease = new GifLease(this.#wait, () => {
      // One that was taken for lost may be released after all.
      if (this.#current === lease) this.#current = undefined;
    });
    this.#current = lease;
    return lease;
  }
}

export class GifLease {
  readonly #wait: (ms: number) => Promise<void>;
  readonly release: () => void;
  #spentPixels = 0;
  /** Changes while the work goes on. */
  signs = 0;

  constructor(wait: (ms: number) => Promise<void>, release: () => void) {
    this.#wait = wait;
    this.release = release;
  }

  /** After work on so many pixels. Every now and then it lets the isolate answer the requests that came meanwhile. */
  async spend(pixels: number): Promise<void> {
    this.signs += 1;
    this.#spentPixels += pixels;
    if (this.#spentPixels < LIMITS.gifPixelsPerPause) return;
    this.#spentPixels = 0;
    await this.#wait(0);
  }
}
