/** Runs what may wait one after the other: nothing of its kind comes between its first look and its last write. */
export class Mutex {
  /** Resolves when the one that runs now is done. */
  #running: Promise<void> | undefined;

  async run<T>(work: () => Promise<T>): Promise<T> {
    while (this.#running !== undefined) await this.#running;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    try {
      return await work();
    } finally {
      this.#running = undefined;
      resolve();
    }
  }
}
