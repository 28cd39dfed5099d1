import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/clock.ts";
import { hasTable } from "../platform/has-table.ts";
import { NO_PASSWORD_HASH, verifyPassword } from "../platform/password-hash.ts";
import { afterFailure, ATTEMPTS, isBlocked, type Attempts } from "./attempts.ts";

/** What came of one attempt. `blockedFromNow`: this was the one too many. */
export type AttemptOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "wrong"; readonly blockedFromNow: boolean }
  | { readonly kind: "blocked" };

/**
 * The sign-in attempts of one account, or of an address that is nobody's: both look alike from outside.
 *
 * An attempt runs without an `await` from its first look to its last write, the slow hash included. So parallel guesses
 * come one after the other, none of them tries a password beyond the limit, and parallel right ones all sign in. The
 * runtime holds the answer back until the count is on disk.
 *
 * There is a row exactly while failures count or a block lasts. The alarm then removes everything, so addresses that
 * somebody made up leave nothing behind.
 */
export class LoginAttempts extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  #attempts: Attempts | undefined = this.#load();

  /** `passwordHash` is undefined where no password can be right; that costs as much and is counted alike. */
  attempt(passwordHash: string | undefined, password: string): AttemptOutcome {
    const nowMs = systemClock.nowMs();
    if (isBlocked(this.#attempts, nowMs)) return { kind: "blocked" };
    const matches = verifyPassword(password, passwordHash ?? NO_PASSWORD_HASH);
    if (passwordHash !== undefined && matches) {
      this.unlock();
      return { kind: "ok" };
    }
    const next = afterFailure(this.#attempts, nowMs);
    this.#save(next);
    return { kind: "wrong", blockedFromNow: next.failures >= ATTEMPTS.limit };
  }

  /** Forgets the failures and ends a block. */
  unlock(): void {
    if (this.#attempts === undefined) return;
    this.#sql.exec(`DELETE FROM attempts`);
    this.#attempts = undefined;
  }

  /** Removes everything when nothing counts any more. One that comes early, after another failure, is set again. */
  override async alarm(): Promise<void> {
    if (this.#attempts !== undefined && systemClock.nowMs() < this.#attempts.untilMs)
      return this.ctx.storage.setAlarm(this.#attempts.untilMs);
    this.#attempts = undefined;
    await this.ctx.storage.deleteAll();
  }

  #load(): Attempts | undefined {
    if (!hasTable(this.#sql, "attempts")) return undefined;
    const row = this.#sql
      .exec<{ failures: number; until_at: number }>(`SELECT failures, until_at FROM attempts`)
      .toArray()[0];
    return row === undefined ? undefined : { failures: row.failures, untilMs: row.until_at };
  }

  #save(next: Attempts): void {
    this.#sql.exec(SCHEMA);
    this.#sql.exec(
      `INSERT OR REPLACE INTO attempts (id, schema_version, failures, until_at) VALUES (1, ${SCHEMA_VERSION}, ?, ?)`,
      next.failures,
      next.untilMs,
    );
    this.#attempts = next;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(next.untilMs));
  }
}

const SCHEMA_VERSION = 1;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    until_at INTEGER NOT NULL
  ) STRICT`;
