/** Runs what may wait one after the other: nothing of its kind comes between its first look and its last write. */
export class Turns {
  /** Resolves when the one that holds the turn is done. */
  #turn: Promise<void> | undefined;

  async take<T>(run: () => Promise<T>): Promise<T> {
    while (this.#turn !== undefined) await this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    try {
      return await run();
    } finally {
      this.#turn = undefined;
      resolve();
    }
  }
}
