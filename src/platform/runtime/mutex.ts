/** Runs async work one at a time. */
export class Mutex {
  /** Resolves when the running work is done. */
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
