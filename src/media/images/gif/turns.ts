import { LIMITS } from "../../model/limits.ts";

/** How long one waits for its turn before it looks again. */
const POLL_MS = 50;

/**
 * Lets one gif at a time be worked on in an isolate, since each may take half of its memory. Those that wait look again
 * and again, for nothing that belongs to another request may be awaited: when that one is cancelled it never settles. For
 * the same reason a turn of which no sign was seen for `LIMITS.gifTurnMs` is taken for lost.
 */
export class GifTurns {
  readonly #wait: (ms: number) => Promise<void>;
  #current: GifTurn | undefined;

  constructor(wait: (ms: number) => Promise<void>) {
    this.#wait = wait;
  }

  /** Whoever begins a turn ends it, whatever happens. */
  async begin(): Promise<GifTurn> {
    let [watched, signs, silentMs] = [this.#current, -1, 0];
    while (this.#current !== undefined) {
      // Looked at before the minute counts: of several that waited, another one may have begun just now.
      if (this.#current !== watched || watched.signs !== signs) {
        watched = this.#current;
        [signs, silentMs] = [watched.signs, 0];
      } else if (silentMs >= LIMITS.gifTurnMs) break;
      await this.#wait(POLL_MS);
      silentMs += POLL_MS;
    }
    const turn = new GifTurn(this.#wait, () => {
      // One that was taken for lost may end after all.
      if (this.#current === turn) this.#current = undefined;
    });
    this.#current = turn;
    return turn;
  }
}

export class GifTurn {
  readonly #wait: (ms: number) => Promise<void>;
  readonly end: () => void;
  #spentPixels = 0;
  /** Changes while the work goes on. */
  signs = 0;

  constructor(wait: (ms: number) => Promise<void>, end: () => void) {
    this.#wait = wait;
    this.end = end;
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
