import type { KeyTimes } from "./key-store.ts";

/**
 * The life of a signing key. Each algorithm has its own keys, and one of them signs.
 *
 *   made ──▶ published ──its time comes──▶ signs ──later key signs──▶ verifies ──publication ends──▶ gone
 *              │                                                           ▲
 *              └──────── overtaken: a key made after it signs already ─────┘
 *
 * By schedule a key signs for 90 days. The next one is published a day before, so every verifier has it in time. The
 * first key, and a key that an operator makes, sign at once. Of the keys whose time has come, the newest signs. So no
 * row changes when a key stops signing, and an isolate with a ten-minute-old copy can go on with the previous key,
 * which is published long enough (key-rotation.ts).
 */
export type KeyState = "published" | "signs" | "verifies" | "gone";

type Life = Pick<KeyTimes, "alg" | "createdAtMs" | "signsFromMs">;

/**
 * The key that signs, of the published ones. Undefined if the algorithm has none. If no key's time has come, because a
 * clock ahead of ours made the first one, it is the key whose time comes first.
 */
export function selectSigner<K extends Life>(published: Iterable<K>, alg: string, nowMs: number): K | undefined {
  const keys = [...published].filter((key) => key.alg === alg);
  const ready = keys.filter((key) => key.signsFromMs <= nowMs).sort((a, b) => b.createdAtMs - a.createdAtMs);
  return ready[0] ?? keys.sort((a, b) => a.signsFromMs - b.signsFromMs)[0];
}

/** The state of a key among the published ones. */
export function keyState(key: KeyTimes, published: readonly KeyTimes[], nowMs: number): KeyState {
  if ((key.publishedUntilMs ?? Number.POSITIVE_INFINITY) <= nowMs) return "gone";
  if (selectSigner(published, key.alg, nowMs)?.kid === key.kid) return "signs";
  return key.publishedUntilMs === undefined ? "published" : "verifies";
}
