import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../platform/clock.ts";
import { hasTable } from "../../platform/has-table.ts";
import { GUESS_LIMITS, allowedAtMs, UNDER_WAY_MS, type GuessKind } from "./guesses.ts";

/**
 * The accounts at which sign-ins failed from one network, or with one password; by digests that this deployment alone
 * can make. An attempt takes its place before the password is looked at, so many at once get no further than one after
 * the other, and gives it back where the password was right.
 *
 * A place that is taken is in memory: nothing is written for a sign-in that succeeds. There is a row while a failure
 * counts; the alarm then removes everything.
 */
export class GuessCounter extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  /** By account: up to when it counts. */
  readonly #failed = this.#load();
  /** By account: attempts at it that were not settled, and up to when they may be. */
  readonly #underWay = new Map<string, { readonly attempts: number; readonly untilMs: number }>();
  /** Wake who waits for a place. */
  readonly #waiting = new Set<() => void>();

  /**
   * When the account may be tried, and then it is counted as being tried; now or earlier: at once. Where places are taken by
   * attempts that may turn out right, it waits for them, so long at most.
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
        for (const [name, { untilMs }] of this.#underWay) if (untilMs <= nowMs) this.#underWay.delete(name);
        const byFailures = allowedAtMs(account, { failed: this.#failed, underWay: NONE }, GUESS_LIMITS[kind], nowMs);
        const state = { failed: this.#failed, underWay: new Set(this.#underWay.keys()) };
        const opens = allowedAtMs(account, state, GUESS_LIMITS[kind], nowMs);
        if (opens <= nowMs) {
          const { attempts = 0 } = this.#underWay.get(account) ?? {};
          this.#underWay.set(account, { attempts: attempts + 1, untilMs: nowMs + UNDER_WAY_MS });
        }
        if (opens <= nowMs || byFailures > nowMs || isOver) return { admitted: opens <= nowMs, allowedAtMs: opens };
        await new Promise<void>((wake) => this.#waiting.add(wake));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** What came of it. A right password takes back no failure of before. */
  settle(kind: GuessKind, account: string, failed: boolean): void {
    const { attempts = 0, untilMs: heardOfMs = 0 } = this.#underWay.get(account) ?? {};
    // Another attempt at it keeps the place.
    if (attempts > 1) this.#underWay.set(account, { attempts: attempts - 1, untilMs: heardOfMs });
    else this.#underWay.delete(account);
    this.#wake();
    if (!failed) return;
    const nowMs = systemClock.nowMs();
    const untilMs = nowMs + GUESS_LIMITS[kind].withinMs;
    this.#sql.exec(SCHEMA);
    this.#sql.exec(`DELETE FROM failed WHERE until_at <= ?`, nowMs);
    for (const [name, endMs] of this.#failed) if (endMs <= nowMs) this.#failed.delete(name);
    this.#sql.exec(`INSERT OR REPLACE INTO failed (account, until_at) VALUES (?, ?)`, account, untilMs);
    this.#failed.set(account, untilMs);
    this.ctx.waitUntil(this.ctx.storage.setAlarm(untilMs));
  }

  /** Set again by each failure, so nothing counts any more when it comes; early, it looks again. */
  override async alarm(): Promise<void> {
    const lastMs = Math.max(0, ...this.#failed.values());
    if (systemClock.nowMs() < lastMs) return this.ctx.storage.setAlarm(lastMs);
    this.#failed.clear();
    await this.ctx.storage.deleteAll();
  }

  /** Each looks again, in the order in which they came; at the earliest when what is being done is done. */
  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #load(): Map<string, number> {
    if (!hasTable(this.#sql, "failed")) return new Map();
    const rows = this.#sql.exec<{ account: string; until_at: number }>(`SELECT account, until_at FROM failed`);
    return new Map(rows.toArray().map(({ account, until_at: untilMs }) => [account, untilMs]));
  }
}

interface Place {
  readonly admitted: boolean;
  readonly allowedAtMs: number;
}

const NONE: ReadonlySet<string> = new Set();

const SCHEMA = `CREATE TABLE IF NOT EXISTS failed (account TEXT PRIMARY KEY, until_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`;
