import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../platform/runtime/clock.ts";
import { hasTable } from "../../platform/storage/has-table.ts";
import type { ObjectSchema } from "../../platform/storage/object-schema.ts";
import { GUESS_LIMITS, allowedAtMs, IN_PROGRESS_MS, type GuessKind } from "./guesses.ts";

/**
 * The accounts whose sign-ins failed from one network or with one password, as keyed digests. An attempt takes a slot
 * before the password is checked and returns it if the password was right, so parallel attempts get no further than
 * sequential ones.
 *
 * Slots are held in memory: a successful sign-in writes nothing. A row exists while a failure counts. The alarm then
 * deletes everything.
 */
export class GuessCounter extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  /** By account: the time until which its failure counts. */
  readonly #failed = this.#load();
  /** By account: attempts that are not settled, and the time until which they may be. */
  readonly #inProgress = new Map<string, { readonly attempts: number; readonly untilMs: number }>();
  /** Wake the attempts that wait for a slot. */
  readonly #waiting = new Set<() => void>();

  /**
   * Returns when the account may be tried; if now, the attempt takes a slot. If all slots are held by attempts that may
   * still succeed, waits for one, at most `waitMs`.
   */
  async admit(kind: GuessKind, account: string, waitMs: number): Promise<Place> {
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      this.#wake();
    }, waitMs);
    try {
      for (;;) {
        const nowMs = systemClock.nowMs();
        for (const [name, { untilMs }] of this.#inProgress) if (untilMs <= nowMs) this.#inProgress.delete(name);
        const byFailures = allowedAtMs(account, { failed: this.#failed, inProgress: NONE }, GUESS_LIMITS[kind], nowMs);
        const state = { failed: this.#failed, inProgress: new Set(this.#inProgress.keys()) };
        const opens = allowedAtMs(account, state, GUESS_LIMITS[kind], nowMs);
        if (opens <= nowMs) {
          const { attempts = 0 } = this.#inProgress.get(account) ?? {};
          this.#inProgress.set(account, { attempts: attempts + 1, untilMs: nowMs + IN_PROGRESS_MS });
        }
        if (opens <= nowMs || byFailures > nowMs || isOver) return { admitted: opens <= nowMs, allowedAtMs: opens };
        await new Promise<void>((wake) => this.#waiting.add(wake));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends an attempt. A right password does not undo earlier failures. */
  settle(kind: GuessKind, account: string, failed: boolean): void {
    const { attempts = 0, untilMs: expectedMs = 0 } = this.#inProgress.get(account) ?? {};
    // Another attempt at this account keeps the slot.
    if (attempts > 1) this.#inProgress.set(account, { attempts: attempts - 1, untilMs: expectedMs });
    else this.#inProgress.delete(account);
    this.#wake();
    if (!failed) return;
    const nowMs = systemClock.nowMs();
    const untilMs = nowMs + GUESS_LIMITS[kind].withinMs;
    this.#sql.exec(TABLE);
    this.#sql.exec(`DELETE FROM failed WHERE until_at <= ?`, nowMs);
    for (const [name, endMs] of this.#failed) if (endMs <= nowMs) this.#failed.delete(name);
    this.#sql.exec(`INSERT OR REPLACE INTO failed (account, until_at) VALUES (?, ?)`, account, untilMs);
    this.#failed.set(account, untilMs);
    this.ctx.waitUntil(this.ctx.storage.setAlarm(untilMs));
  }

  /** Each failure moves the alarm, so nothing counts when it fires. If it fires early, it is set again. */
  override async alarm(): Promise<void> {
    const lastMs = Math.max(0, ...this.#failed.values());
    if (systemClock.nowMs() < lastMs) return this.ctx.storage.setAlarm(lastMs);
    this.#failed.clear();
    await this.ctx.storage.deleteAll();
  }

  /** Waiting attempts check again, in the order in which they came. */
  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #load(): Map<string, number> {
    if (!hasTable(this.#sql, "failed")) return new Map();
    const rows = this.#sql.exec<{ account: string; untilMs: number }>(
      `SELECT account, until_at AS untilMs FROM failed`,
    );
    return new Map(rows.toArray().map(({ account, untilMs }) => [account, untilMs]));
  }
}

interface Place {
  readonly admitted: boolean;
  readonly allowedAtMs: number;
}

const NONE: ReadonlySet<string> = new Set();

/** Tables of release 0.1.0 have no `schema_version`. */
export const GUESS_SCHEMA: ObjectSchema = { object: "GuessCounter", table: "failed", version: 1 };
const TABLE = `CREATE TABLE IF NOT EXISTS failed (
  account TEXT PRIMARY KEY,
  until_at INTEGER NOT NULL,
  schema_version INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID`;
