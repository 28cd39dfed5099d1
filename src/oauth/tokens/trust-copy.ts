import type { HashKey } from "../../platform/secrets/half-sip-hash.ts";
import { isRevokedBy, type Revocable } from "./issued-token.ts";
import { RevocationTable } from "./revocation-table.ts";
import { importVerifyKey } from "./keys/signing-key.ts";
import type { TrustFrom, TrustReading, TrustSource } from "./trust-source.ts";
import type { Revocation, SigningKeyRow } from "./trust-store.ts";

/** More rows than D1 ever has, at 20 to 30 bytes each. */
const COPIED_ROWS = 500_000;
/** An isolate that is further behind reads D1 itself. */
const EARLIER_MS = 10_000;

export interface Key extends SigningKeyRow {
  /** Absent if this version does not know the algorithm. Such a key is only published. */
  readonly verify: CryptoKey | undefined;
  sign?: CryptoKey;
}

/**
 * The keys and revocations that this isolate has read, and the time of the last read. trust-refresh.ts decides when
 * to read.
 *
 * - A late response undoes nothing, because rows have numbers and refreshes are counted.
 * - Each refresh reads the generation of the database. It changes with a restore, and then the isolate reads everything
 *   again: numbers may have been given twice, and known revocations may not exist any more.
 */
export class TrustCopy {
  readonly keys = new Map<string, Key>();
  readonly #source: TrustSource;
  readonly #hashKey: HashKey;
  readonly #onRestored: () => void;
  #revoked: RevocationTable;
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #lastSeq = 0;
  #generation: string | undefined;
  /** Numbers of the last refreshes. The first is the newest that every isolate of the location should have by now. */
  readonly #marks: { readonly atMs: number; readonly seq: number }[] = [];
  #begun = 0;
  #lastLanded = 0;
  /** The number of changes by other statements. A refresh includes those that came before it began. */
  #changes = 0;
  #settledChanges = 0;

  constructor(source: TrustSource, hashKey: HashKey, onRestored: () => void) {
    this.#source = source;
    this.#hashKey = hashKey;
    this.#onRestored = onRestored;
    this.#revoked = new RevocationTable(hashKey);
  }

  get loadedAtMs(): number {
    return this.#loadedAtMs;
  }

  /** The number of refreshes that began. */
  get begun(): number {
    return this.#begun;
  }

  /** The number of the newest read of D1 that landed. */
  get lastLanded(): number {
    return this.#lastLanded;
  }

  /** False while this isolate knows of a change that it has not read. */
  get isSettled(): boolean {
    return this.#settledChanges === this.#changes;
  }

  /** If the clock was set back, the copy counts as old. */
  isWithin(ageMs: number, nowMs: number): boolean {
    return Math.abs(nowMs - this.#loadedAtMs) <= ageMs;
  }

  hasRecent(ageMs: number, nowMs: number): boolean {
    return this.isSettled && this.isWithin(ageMs, nowMs);
  }

  markStale(): void {
    this.#changes += 1;
  }

  isRevoked(token: Revocable): boolean {
    return isRevokedBy(this.#revoked, token);
  }

  add(rows: readonly Revocation[], nowMs: number): void {
    for (const row of rows) this.#revoked.add(row, nowMs);
  }

  async refresh(nowMs: number, from: TrustFrom): Promise<"landed" | "none" | "behind"> {
    const number = ++this.#begun;
    const changesSeen = this.#changes;
    const known = {
      lastSeq: this.#lastSeq,
      earlierSeq: this.#marks[0]?.seq ?? this.#lastSeq,
      loadedAtMs: this.#loadedAtMs,
      generation: this.#generation,
    };
    const reading = await this.#source.read(known, nowMs, from, (rows) => {
      this.add(rows, nowMs);
      this.#lastSeq = Math.max(this.#lastSeq, rows.at(-1)?.seq ?? 0);
    });
    if (typeof reading === "string") return reading;
    const { update, readAtMs, isFromD1 } = reading.isOther ? await this.#readAnew(nowMs) : reading;
    this.#generation = update.generation ?? "";
    for (const row of update.keys) {
      const verify = this.keys.has(row.kid) ? undefined : await importVerifyKey(row);
      // A parallel refresh may have added the key, and may have opened its private half.
      if (!this.keys.has(row.kid)) this.keys.set(row.kid, { ...row, verify });
    }
    if (isFromD1) {
      this.#settledChanges = Math.max(this.#settledChanges, changesSeen);
      if (number < this.#lastLanded) return "landed";
      this.#lastLanded = number;
    } else if (readAtMs <= this.#loadedAtMs) return "landed";
    this.#loadedAtMs = readAtMs;
    this.#mark(nowMs);
    const published = new Set(update.keys.map((row) => row.kid));
    for (const kid of this.keys.keys()) if (!published.has(kid)) this.keys.delete(kid);
    if (this.#revoked.size > COPIED_ROWS) this.#startAnew();
    return "landed";
  }

  #mark(nowMs: number): void {
    const marks = this.#marks;
    marks.push({ atMs: nowMs, seq: this.#lastSeq });
    while (marks[1] !== undefined && Math.abs(nowMs - marks[1].atMs) >= EARLIER_MS) marks.shift();
  }

  /** Reads everything again after a restore of the database. The old copy stays until then. */
  async #readAnew(nowMs: number): Promise<TrustReading> {
    const fresh = new RevocationTable(this.#hashKey);
    let freshSeq = 0;
    const nothing = { lastSeq: 0, earlierSeq: 0, loadedAtMs: Number.NEGATIVE_INFINITY, generation: undefined };
    // Reads D1, since the location's news may be from before the restore.
    const reading = await this.#source.read(nothing, nowMs, "D1", (rows) => {
      for (const row of rows) fresh.add(row, nowMs);
      freshSeq = Math.max(freshSeq, rows.at(-1)?.seq ?? 0);
    });
    if (typeof reading === "string") throw new Error("D1 was to be asked");
    this.#startAnew();
    this.#revoked = fresh;
    this.#lastSeq = freshSeq;
    // A revocation that this isolate made meanwhile may be missing.
    this.markStale();
    this.#onRestored();
    return reading;
  }

  /** Drops the copied rows, when D1 has collapsed them to fewer (revocation-collapse-store.ts). */
  #startAnew(): void {
    this.#revoked = new RevocationTable(this.#hashKey);
    this.#marks.length = 0;
    this.#lastSeq = 0;
    this.#loadedAtMs = Number.NEGATIVE_INFINITY;
  }
}
