import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../platform/clock.ts";
import { hasTable } from "../../platform/has-table.ts";
import { noPasswordHash, verifyPassword } from "../../platform/password-hash.ts";
import { afterFailure, ATTEMPTS, isBlocked, type Attempts } from "./attempts.ts";

/** What came of one attempt. `blockedFromNow`: this was the one too many. */
export type AttemptOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "wrong"; readonly blockedFromNow: boolean }
  | { readonly kind: "blocked"; readonly untilMs: number };

/** Who tries: anybody, or one browser that is known by its id. */
const STRANGERS = "";
/** Browsers that are counted by themselves at a time; more of them are counted as strangers. */
const MAX_DEVICES = 50;

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
  /** By device. */
  readonly #attempts = this.#load();

  /**
   * `passwordHash` is undefined where no password can be right; that costs as much and is counted alike. `device`: the
   * known browser that tries.
   */
  attempt(passwordHash: string | undefined, password: string, device: string = STRANGERS): AttemptOutcome {
    const nowMs = systemClock.nowMs();
    const who = this.#attempts.has(device) || this.#attempts.size <= MAX_DEVICES ? device : STRANGERS;
    const known = this.#attempts.get(who);
    if (known !== undefined && isBlocked(known, nowMs)) return { kind: "blocked", untilMs: known.untilMs };
    const matches = verifyPassword(password, passwordHash ?? noPasswordHash());
    if (passwordHash !== undefined && matches) {
      if (this.#attempts.delete(who)) this.#sql.exec(`DELETE FROM failed WHERE device = ?`, who);
      return { kind: "ok" };
    }
    const next = afterFailure(known, nowMs);
    this.#save(who, next);
    return { kind: "wrong", blockedFromNow: isBlocked(next, nowMs) };
  }

  /** Forgets the failures and ends every block. */
  unlock(): void {
    if (this.#attempts.size === 0) return;
    this.#sql.exec(`DELETE FROM failed`);
    this.#attempts.clear();
  }

  /** Removes everything when nothing counts any more. One that comes early, after another failure, is set again. */
  override async alarm(): Promise<void> {
    const lastMs = Math.max(0, ...[...this.#attempts.values()].map(({ forgetAtMs }) => forgetAtMs));
    if (systemClock.nowMs() < lastMs) return this.ctx.storage.setAlarm(lastMs);
    this.#attempts.clear();
    await this.ctx.storage.deleteAll();
  }

  #load(): Map<string, Attempts> {
    if (hasTable(this.#sql, "attempts")) this.#upgrade();
    if (!hasTable(this.#sql, "failed")) return new Map();
    const rows = this.#sql.exec<Row>(`SELECT device, failures, until_at, since_block, blocks, forget_at FROM failed`);
    return new Map(rows.toArray().map((row) => [row.device, toAttempts(row)]));
  }

  #save(device: string, next: Attempts): void {
    this.#sql.exec(SCHEMA);
    this.#sql.exec(SAVE, device, next.failures, next.untilMs, next.sinceBlock, next.blocks, next.forgetAtMs);
    this.#attempts.set(device, next);
    this.ctx.waitUntil(this.ctx.storage.setAlarm(next.forgetAtMs));
  }

  /** Version 1 had one row, of everybody. */
  #upgrade(): void {
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec(SCHEMA);
      this.#sql.exec(
        `INSERT OR REPLACE INTO failed (device, schema_version, failures, until_at, since_block, blocks, forget_at)
         SELECT '', ${SCHEMA_VERSION}, failures, until_at, iif(failures < ?1, failures, 0), iif(failures < ?1, 0, 1), until_at + ?2
         FROM attempts`,
        ATTEMPTS.limit,
        ATTEMPTS.quietMs,
      );
      this.#sql.exec(`DROP TABLE attempts`);
    });
  }
}

type Row = Record<"failures" | "until_at" | "since_block" | "blocks" | "forget_at", number> & { device: string };

const toAttempts = (row: Row): Attempts => ({
  failures: row.failures,
  untilMs: row.until_at,
  sinceBlock: row.since_block,
  blocks: row.blocks,
  forgetAtMs: row.forget_at,
});

const SCHEMA_VERSION = 2;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS failed (
    device TEXT PRIMARY KEY,
    schema_version INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    since_block INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    forget_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`;
const SAVE = `
  INSERT OR REPLACE INTO failed (device, schema_version, failures, until_at, since_block, blocks, forget_at)
  VALUES (?, ${SCHEMA_VERSION}, ?, ?, ?, ?, ?)`;
