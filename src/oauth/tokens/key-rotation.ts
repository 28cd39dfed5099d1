import type { AuditRecord, AuditTrail } from "../../platform/ports/audit.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { ACCESS_TOKEN_LIFETIME_SEC } from "./lifetimes.ts";
import { ID_TOKEN_LIFETIME_SEC } from "./id-token.ts";
import { keyState, type KeyState } from "./keys/key-life.ts";
import type { KeyCondition, KeyPage, KeyStore, KeyTimes, NewKey } from "./keys/key-store.ts";
import { SIGNING_ALGS, type SigningAlg } from "./keys/signing-key.ts";
import { SIGNING_COPY_MS } from "./trust.ts";
import { DAY_MS, MINUTE_MS } from "../../platform/runtime/clock.ts";

export interface Operator {
  readonly actor: string;
  readonly requestId: string;
  readonly nowMs: number;
}

/** Earlier keys verify until their tokens have expired. If one has leaked, they end at once, with all their tokens. */
export type EarlierKeys = "verify" | "end";

/** A key without its secrets, for people. */
export interface KeyView extends KeyTimes {
  readonly state: KeyState;
}

const SIGNS_MS = 90 * DAY_MS;
const AHEAD_MS = DAY_MS;
/**
 * The time that a key stays published after the next one signs. The last token is signed from the oldest possible copy
 * and lives its hour. The margin covers clock differences and slow requests.
 */
const TOKENS_LIVE_MS =
  SIGNING_COPY_MS + Math.max(ACCESS_TOKEN_LIFETIME_SEC, ID_TOKEN_LIFETIME_SEC) * 1000 + 10 * MINUTE_MS;
/**
 * The time after a change by schedule, which is not urgent. A day lets an ID token of this morning sign its user out.
 */
const KEPT_BY_SCHEDULE_MS = DAY_MS;
/** Rows of ended keys remain for an operator who finds a `kid` in a log. */
const GONE_MS = DAY_MS;
/** Published keys per algorithm. Isolates read all of them every few seconds. */
const MAX_PUBLISHED = 10;

export type KeyRotation = ReturnType<typeof createKeyRotation>;

/**
 * Makes signing keys: the first of an algorithm, the next by schedule, and new ones for an operator (key-life.ts draws
 * their life). The write itself decides whether keys are added. So two runs at once, or a repetition after a lost
 * response, add one set. A repeated operator's request is another rotation, up to a limit.
 */
export function createKeyRotation(store: KeyStore, makeKey: (alg: SigningAlg) => Promise<NewKey>, audit: AuditTrail) {
  async function add(
    algs: readonly SigningAlg[],
    times: { readonly signsFromMs: number; readonly keptMs: number },
    condition: KeyCondition,
    by: Operator & { readonly why: string },
  ): Promise<readonly KeyTimes[]> {
    const keys = await Promise.all(algs.map(makeKey));
    const record: AuditRecord = {
      atMs: by.nowMs,
      requestId: by.requestId,
      actor: by.actor,
      action: "rotate keys",
      subject: "signing-keys",
      outcome: "done",
      reason: `${by.why}: ${keys.map(({ alg, kid }) => `${alg} ${kid}`).join(", ")}`,
    };
    const earlierUntilMs = times.signsFromMs + times.keptMs;
    const plan = { keys, signsFromMs: times.signsFromMs, earlierUntilMs, audit: audit.statement("if changed", record) };
    return store.add(plan, condition, by.nowMs);
  }

  /** Seconds until an operator may make keys. Undefined: now. */
  async function fullForSec(nowMs: number): Promise<number | undefined> {
    const published = await store.published(nowMs);
    const full = SIGNING_ALGS.some((alg) => published.filter((key) => key.alg === alg).length >= MAX_PUBLISHED);
    const ends = published.flatMap(({ publishedUntilMs }) => publishedUntilMs ?? []);
    return full ? Math.max(1, Math.ceil((Math.min(...ends) - nowMs) / 1000)) : undefined;
  }

  return {
    /** Makes the first key of an algorithm, unless there is one. */
    async makeFirst(alg: SigningAlg, nowMs: number): Promise<void> {
      const condition = { unless: "signs after", timeMs: Number.MIN_SAFE_INTEGER } as const;
      const by = { actor: "", requestId: "", nowMs, why: "first key" };
      await add([alg], { signsFromMs: nowMs, keptMs: TOKENS_LIVE_MS }, condition, by);
    },

    /** Makes the keys that are due, and deletes those whose publication ended a day ago. */
    async bySchedule(nowMs: number): Promise<void> {
      const published = await store.published(nowMs);
      const youngMs = nowMs - SIGNS_MS + AHEAD_MS;
      for (const alg of SIGNING_ALGS) {
        const keys = published.filter((key) => key.alg === alg);
        if (keys.some((key) => key.signsFromMs > youngMs)) continue;
        // The first key signs at once: nobody has another one to go on with.
        const signsFromMs = keys.length === 0 ? nowMs : nowMs + AHEAD_MS;
        const condition = { unless: "signs after", timeMs: youngMs } as const;
        const by = { actor: "", requestId: "", nowMs, why: "by schedule" };
        await add([alg], { signsFromMs, keptMs: KEPT_BY_SCHEDULE_MS }, condition, by);
      }
      await store.deleteEnded(nowMs - GONE_MS);
    },

    /** Makes keys of every algorithm that sign at once. The error says when to retry, if too many are published. */
    async byOperator(
      by: Operator,
      earlier: EarlierKeys,
    ): Promise<Result<readonly KeyView[], { readonly retryAfterSec: number }>> {
      const { nowMs } = by;
      const end = earlier === "end";
      // Stolen keys end even if too many keys are published.
      const fullSec = end ? undefined : await fullForSec(nowMs);
      if (fullSec !== undefined) return err({ retryAfterSec: fullSec });
      const count = end ? Number.MAX_SAFE_INTEGER : MAX_PUBLISHED;
      const times = { signsFromMs: nowMs, keptMs: end ? 0 : TOKENS_LIVE_MS };
      const why = end ? "leaked, earlier keys ended" : "by operator";
      const added = await add(SIGNING_ALGS, times, { unless: "published", count }, { ...by, why });
      if (added.length === 0) return err({ retryAfterSec: (await fullForSec(nowMs)) ?? 1 });
      return ok(added.map((key) => ({ ...key, state: keyState(key, added, nowMs) })));
    },

    /** Keys, the newest first. */
    async page(page: KeyPage, nowMs: number): Promise<readonly KeyView[]> {
      const { rows, published } = await store.page(page, nowMs);
      return rows.map((key) => ({ ...key, state: keyState(key, published, nowMs) }));
    },
  };
}
