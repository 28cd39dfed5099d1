import type { KeyTimes } from "./key-store.ts";

/**
 * The life of a signing key. Each algorithm has keys of its own, and one of them signs.
 *
 *   made ──▶ published ──its time comes──▶ signs ──a later key signs──▶ verifies ──published until──▶ gone ──a day──▶ no row
 *              │                                                           ▲
 *              └──────── overtaken: a key made after it signs already ─────┘
 *
 * By schedule a key signs for 90 days, and the next one is published a day before, so that every verifier has it before
 * the first token comes. The platform's first key, and one that an operator makes, sign at once. Of the keys whose time
 * has come the one made last signs: no row has to change for a key to lose its turn, and an isolate with a copy of ten
 * minutes ago just goes on with the key before, which is published long enough (key-rotation.ts).
 */
export type KeyState = "published" | "signs" | "verifies" | "gone";

type Life = Pick<KeyTimes, "alg" | "createdAtMs" | "signsFromMs">;

/**
 * The key that signs, of published ones; undefined when there is none of the algorithm. Where no key's time has come
 * (the first one was made a moment ago, by a clock that is ahead of ours), the one whose time comes first.
 */
export function selectSigner<K extends Life>(published: Iterable<K>, alg: string, nowMs: number): K | undefined {
  const keys = [...published].filter((key) => key.alg === alg);
  const ready = keys.filter((key) => key.signsFromMs <= nowMs).sort((a, b) => b.createdAtMs - a.createdAtMs);
  return ready[0] ?? keys.sort((a, b) => a.signsFromMs - b.signsFromMs)[0];
}

/** The state of a key among those that are published. */
export function keyState(key: KeyTimes, published: readonly KeyTimes[], nowMs: number): KeyState {
  if ((key.publishedUntilMs ?? Number.POSITIVE_INFINITY) <= nowMs) return "gone";
  if (selectSigner(published, key.alg, nowMs)?.kid === key.kid) return "signs";
  return key.publishedUntilMs === undefined ? "published" : "verifies";
}
