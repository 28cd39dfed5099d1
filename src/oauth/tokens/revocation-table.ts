import { halfSipHash, type Hash64, type HashKey } from "../../platform/secrets/half-sip-hash.ts";
import type { Revocation } from "./trust-store.ts";

/**
 * An isolate's copy of the revocations: a table of 64-bit hashes with open addressing, 20 bytes a slot. 100,000 rows
 * take 3 MB, where a `Map` of the rows takes more than 20.
 *
 * A row is never removed while it may concern a valid token, and one that comes again only revokes more. So the order
 * in which rows arrive does not matter, and nothing that was revoked becomes valid again. Two names with one hash would
 * refuse a valid token: the chance is 1 in 10^14 for a token and 100,000 rows.
 */
export class RevocationTable {
  readonly #key: HashKey;
  readonly #hash: Hash64 = { low: 0, high: 0 };
  #used = 0;
  #slots = slotsFor(0);
  /** The kinds that a row ever had. Checks of other kinds cost no hash, and few kinds have rows at a time. */
  readonly #kinds = new Set<Revocation["kind"]>();

  constructor(key: HashKey) {
    this.#key = key;
  }

  /** The number of rows, with those that have expired since the last growth. */
  get size(): number {
    return this.#used;
  }

  add({ kind, key, untilMs, expiresSec }: Omit<Revocation, "seq">, nowMs: number): void {
    if (expiresSec * 1000 <= nowMs) return;
    if (this.#used >= this.#slots.low.length * MOST_FULL) this.#grow(Math.floor(nowMs / 1000));
    halfSipHash(this.#key, key, this.#hash, KIND[kind]);
    this.#put(this.#hash.low, this.#hash.high, untilMs, expiresSec);
    this.#kinds.add(kind);
  }

  /** The time up to which the name's tokens are revoked; -1 if none is. */
  untilMs(kind: Revocation["kind"], key: string): number {
    if (!this.#kinds.has(kind)) return -1;
    halfSipHash(this.#key, key, this.#hash, KIND[kind]);
    const slot = this.#find(this.#hash.low, this.#hash.high);
    return this.#slots.expiresSec[slot] === 0 ? -1 : this.#slots.untilMs[slot]!;
  }

  /** The slot of the hash, or the free one where it belongs. */
  #find(hashLow: number, hashHigh: number): number {
    const { low, high, expiresSec } = this.#slots;
    let slot = Math.floor((hashLow / 2 ** 32) * low.length);
    while (expiresSec[slot] !== 0 && (low[slot] !== hashLow || high[slot] !== hashHigh))
      slot = slot + 1 === low.length ? 0 : slot + 1;
    return slot;
  }

  #put(hashLow: number, hashHigh: number, untilMs: number, expiresSec: number): void {
    const slots = this.#slots;
    const slot = this.#find(hashLow, hashHigh);
    if (slots.expiresSec[slot] === 0) this.#used += 1;
    slots.low[slot] = hashLow;
    slots.high[slot] = hashHigh;
    slots.untilMs[slot] = Math.max(slots.untilMs[slot]!, untilMs);
    slots.expiresSec[slot] = Math.max(slots.expiresSec[slot]!, expiresSec);
  }

  /** Copies the rows that have not expired to a table with room for more. */
  #grow(nowSec: number): void {
    const old = this.#slots;
    const living = old.expiresSec.reduce((count, expiresSec) => (expiresSec > nowSec ? count + 1 : count), 0);
    this.#slots = slotsFor(living);
    this.#used = 0;
    for (let slot = 0; slot < old.low.length; slot++)
      if (old.expiresSec[slot]! > nowSec)
        this.#put(old.low[slot]!, old.high[slot]!, old.untilMs[slot]!, old.expiresSec[slot]!);
  }
}

const KIND = { token: 1, grant: 2, session: 3, client: 4, tenant: 5, user: 6 } as const satisfies Record<
  Revocation["kind"],
  number
>;
/** The part of the slots that may be in use. */
const MOST_FULL = 0.8;
const GROWTH = 1.25;
const FEWEST_SLOTS = 64;

/** A slot that expires at 0 is free. */
const slotsFor = (rows: number) => {
  const length = Math.max(FEWEST_SLOTS, Math.ceil((rows * GROWTH) / MOST_FULL));
  return {
    low: new Uint32Array(length),
    high: new Uint32Array(length),
    untilMs: new Float64Array(length),
    expiresSec: new Uint32Array(length),
  };
};
