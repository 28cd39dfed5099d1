import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/clock.ts";
import { hasTable } from "../platform/has-table.ts";
import { GUESS_LIMITS, opensAtMs, UNDER_WAY_MS, type GuessKind } from "./guesses.ts";

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
  readonly #underWay = new Map<string, number>();

  /** When the account may be tried, and then it is counted as being tried; now or earlier: at once. */
  admit(kind: GuessKind, account: string): { readonly admitted: boolean; readonly opensAtMs: number } {
    const nowMs = systemClock.nowMs();
    for (const [name, untilMs] of this.#underWay) if (untilMs <= nowMs) this.#underWay.delete(name);
    const state = { failed: this.#failed, underWay: new Set(this.#underWay.keys()) };
    const opens = opensAtMs(account, state, GUESS_LIMITS[kind], nowMs);
    if (opens <= nowMs) this.#underWay.set(account, nowMs + UNDER_WAY_MS);
    return { admitted: opens <= nowMs, opensAtMs: opens };
  }

  /** What came of it. A right password takes back no failure of before. */
  settle(kind: GuessKind, account: string, failed: boolean): void {
    this.#underWay.delete(account);
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

  #load(): Map<string, number> {
    if (!hasTable(this.#sql, "failed")) return new Map();
    const rows = this.#sql.exec<{ account: string; until_at: number }>(`SELECT account, until_at FROM failed`);
    return new Map(rows.toArray().map(({ account, until_at: untilMs }) => [account, untilMs]));
  }
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS failed (account TEXT PRIMARY KEY, until_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`;
