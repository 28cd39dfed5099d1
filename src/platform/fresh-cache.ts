/**
 * A bounded cache of records that may be a little old (contract 2.1: 30 s for what decides).
 *
 * - Misses are kept like hits, so that known and unknown keys cost alike, unless `keeps` says otherwise.
 * - Values are kept, never promises: in a Worker a promise belongs to the request that made it, and one that
 *   is cancelled would leave every other request waiting.
 * - `clear` also disowns loads that are on their way: what was read before a change is not kept after it.
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

  /** The kept value while it is fresh, else what `load` gives. A load that fails is not kept. */
  async get(key: K, nowMs: number, load: () => Promise<V>): Promise<V> {
    const kept = this.#entries.get(key);
    // The lower bound: a clock that was set back makes an entry old, not fresh for as long as it was set back.
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

  /** Like `clear` for one key. Loads of other keys that are on their way are not kept either, which costs a load. */
  invalidate(key: K): void {
    this.#generation += 1;
    this.#entries.delete(key);
  }

  #keep(key: K, value: V, freshUntilMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, freshUntilMs });
    // A Map keeps insertion order and a refreshed key is inserted again: the first key is the oldest.
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(oldest);
    }
  }
}
