import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../platform/runtime/clock.ts";
import { hasTable } from "../../platform/storage/has-table.ts";
import type { ObjectSchema } from "../../platform/storage/object-schema.ts";
import { noPasswordHash, verifyPassword } from "../../platform/secrets/password-hash.ts";
import { afterFailure, isBlocked, type Attempts } from "./account-block.ts";

/** The result of one attempt. `blockedFromNow`: this failure blocked the account. */
export type AttemptOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "wrong"; readonly blockedFromNow: boolean }
  | { readonly kind: "blocked"; readonly untilMs: number };

/** Attempts from unknown browsers, as opposed to a device id. */
const STRANGERS = "";
/** Browsers that are counted by themselves. Any more count as strangers. */
const MAX_DEVICES = 50;

/**
 * The sign-in attempts of one account, or of an address without one: both behave alike.
 *
 * An attempt runs without `await` from its first read to its last write, the slow hash included. So parallel guesses
 * run one after the other, none exceeds the limit, and parallel right passwords all sign in. The runtime holds the
 * response until the count is on disk.
 *
 * A row exists only while failures count or a block lasts. The alarm then deletes everything, so made-up addresses
 * leave nothing behind.
 */
export class LoginAttempts extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  /** By device. */
  readonly #attempts = this.#load();

  /**
   * `passwordHash` is undefined if no password can be right; that costs the same and counts the same. `device`: the
   * known browser that tries. `keepsCount`: a second factor follows, and the right password alone ends no count.
   */
  attempt(
    passwordHash: string | undefined,
    password: string,
    device: string = STRANGERS,
    keepsCount: boolean = false,
  ): AttemptOutcome {
    const isRight = (): boolean =>
      verifyPassword(password, passwordHash ?? noPasswordHash()) && passwordHash !== undefined;
    return this.#count(device, isRight, keepsCount);
  }

  /** A code of the second factor, which counts as a password does. */
  attemptCode(isRight: boolean, device: string = STRANGERS): AttemptOutcome {
    return this.#count(device, () => isRight, false);
  }

  #count(device: string, isRight: () => boolean, keepsCount: boolean): AttemptOutcome {
    const nowMs = systemClock.nowMs();
    const counted = this.#attempts.has(device) || this.#attempts.size <= MAX_DEVICES ? device : STRANGERS;
    const known = this.#attempts.get(counted);
    if (known !== undefined && isBlocked(known, nowMs)) return { kind: "blocked", untilMs: known.untilMs };
    if (isRight()) {
      if (!keepsCount && this.#attempts.delete(counted)) this.#sql.exec(`DELETE FROM failed WHERE device = ?`, counted);
      return { kind: "ok" };
    }
    const next = afterFailure(known, nowMs);
    this.#save(counted, next);
    return { kind: "wrong", blockedFromNow: isBlocked(next, nowMs) };
  }

  /** The end of the longest block that lasts; undefined: none does. */
  blockedUntil(): number | undefined {
    const nowMs = systemClock.nowMs();
    const blocks = [...this.#attempts.values()].filter((one) => isBlocked(one, nowMs)).map(({ untilMs }) => untilMs);
    return blocks.length === 0 ? undefined : Math.max(...blocks);
  }

  /** Clears the failures and ends every block. */
  unlock(): void {
    if (this.#attempts.size === 0) return;
    this.#sql.exec(`DELETE FROM failed`);
    this.#attempts.clear();
  }

  /** Deletes everything once nothing counts. If a later failure moved the end, it is set again. */
  override async alarm(): Promise<void> {
    const lastMs = Math.max(0, ...[...this.#attempts.values()].map(({ forgetAtMs }) => forgetAtMs));
    if (systemClock.nowMs() < lastMs) return this.ctx.storage.setAlarm(lastMs);
    this.#attempts.clear();
    await this.ctx.storage.deleteAll();
  }

  #load(): Map<string, Attempts> {
    if (!hasTable(this.#sql, "failed")) return new Map();
    const rows = this.#sql.exec<Row>(LOAD);
    return new Map(rows.toArray().map(({ device, ...attempts }) => [device, attempts]));
  }

  #save(device: string, next: Attempts): void {
    this.#sql.exec(TABLE);
    this.#sql.exec(SAVE, device, next.failures, next.untilMs, next.sinceBlock, next.blocks, next.forgetAtMs);
    this.#attempts.set(device, next);
    this.ctx.waitUntil(this.ctx.storage.setAlarm(next.forgetAtMs));
  }
}

type Row = Record<keyof Attempts, number> & { device: string };

export const ATTEMPTS_SCHEMA: ObjectSchema = { object: "LoginAttempts", table: "failed", version: 2 };
const TABLE = `
  CREATE TABLE IF NOT EXISTS failed (
    device TEXT PRIMARY KEY,
    schema_version INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    since_block INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    forget_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`;
const LOAD = `
  SELECT device, failures, until_at AS untilMs, since_block AS sinceBlock, blocks, forget_at AS forgetAtMs FROM failed`;
const SAVE = `
  INSERT OR REPLACE INTO failed (device, schema_version, failures, until_at, since_block, blocks, forget_at)
  VALUES (?, ${ATTEMPTS_SCHEMA.version}, ?, ?, ?, ?, ?)`;
