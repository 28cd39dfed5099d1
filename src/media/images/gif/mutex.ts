import { LIMITS } from "../../model/limits.ts";

/** The interval at which waiting work polls. */
const POLL_MS = 50;

/**
 * Lets an isolate work on one gif at a time, because each may take half of its memory. Waiting work polls, because a
 * promise of another request never settles if that request is cancelled. For the same reason a lease without progress
 * for `LIMITS.gifLeaseMs` counts as lost.
 */
export class GifMutex {
  readonly #wait: (ms: number) => Promise<void>;
  #current: GifLease | undefined;

  constructor(wait: (ms: number) => Promise<void>) {
    this.#wait = wait;
  }

  /** The caller must release the lease in any case. */
  async acquire(): Promise<GifLease> {
    let [watched, progress, idleMs] = [this.#current, -1, 0];
    while (this.#current !== undefined) {
      // This check comes before the timeout, because another waiting request may just have acquired the lease.
      if (this.#current !== watched || watched.progress !== progress) {
        watched = this.#current;
        [progress, idleMs] = [watched.progress, 0];
      } else if (idleMs >= LIMITS.gifLeaseMs) break;
      await this.#wait(POLL_MS);
      idleMs += POLL_MS;
    }
    const lease = new GifLease(this.#wait, () => {
      // A lease that counted as lost may be released later.
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
  /** This number changes as the work progresses. */
  progress = 0;

  constructor(wait: (ms: number) => Promise<void>, release: () => void) {
    this.#wait = wait;
    this.release = release;
  }

  /** Reports work on this number of pixels, and pauses regularly so that the isolate can answer other requests. */
  async spend(pixels: number): Promise<void> {
    this.progress += 1;
    this.#spentPixels += pixels;
    if (this.#spentPixels < LIMITS.gifPixelsPerPause) return;
    this.#spentPixels = 0;
    await this.#wait(0);
  }
}
