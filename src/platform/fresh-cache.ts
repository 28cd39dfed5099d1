/**
 * A bounded cache of records that may be some seconds old.
 *
 * - Misses are kept like hits, so that known and unknown keys cost the same, unless `keeps` says otherwise.
 * - Values are kept, never promises: in a Worker a promise belongs to the request that made it, and a cancelled one
 *   would leave every other request waiting.
 * - `clear` also stops running loads from being kept, since they may have read the state before a change.
 */
export class FreshCache<K, V> {
  readonly #entries = new Map<K, { readonly value: V; readonly freshUntilMs: number }>();
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #keeps: (value: V) => boolean;
  #generation = 0;

  constructor(limits: { readonly ttlMs: number; readonly maxEntries: number; readonly keeps?: (value: V) => boolean }) {
    this.#ttlMs = limits.ttlMs;
    this.#maxEntries = limits.maxEntries;
    this.#keeps = limits.keeps ?? (() => true);
  }

  /** Returns the kept value while it is fresh, else loads it. A failed load is not kept. */
  async get(key: K, nowMs: number, load: () => Promise<V>): Promise<V> {
    const kept = this.#entries.get(key);
    // The lower bound makes an entry old if the clock was set back, instead of fresh for all that time.
    if (kept !== undefined && nowMs < kept.freshUntilMs && nowMs >= kept.freshUntilMs - this.#ttlMs) return kept.value;
    const generation = this.#generation;
    const value = await load();
    if (generation === this.#generation && this.#keeps(value)) this.#keep(key, value, nowMs + this.#ttlMs);
    return value;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  /** Like `clear` for one key. Running loads of other keys are not kept either, which costs a load. */
  invalidate(key: K): void {
    this.#generation += 1;
    this.#entries.delete(key);
  }

  #keep(key: K, value: V, freshUntilMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, freshUntilMs });
    // The first key is the oldest: a Map keeps the order of insertion, and a refreshed key is inserted again.
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(oldest);
    }
  }
}
