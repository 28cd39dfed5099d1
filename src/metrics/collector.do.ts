import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/runtime/clock.ts";
import { hasTable } from "../platform/storage/has-table.ts";
import {
  decodeMinutes,
  encodeMinutes,
  getOrMake,
  mergeMinutes,
  mergeTenants,
  newTenants,
  type ByMinute,
} from "./model/counts.ts";
import { LIMITS } from "./model/limits.ts";
import { placeOf } from "./model/places.ts";
import type { MetricsStore } from "./store.do.ts";

/**
 * Adds up the batches of many isolates and passes the sums on to the stores. So a store gets about one message in five
 * minutes from each collector, and not one in ten seconds from each isolate.
 *
 *   batch ── add ──→ `sender`: the sums of an isolate since the last seal, and its last number
 *   all sums ── seal, in one transaction ──→ `message`: numbered, for one store each ── taken ──→ (no row)
 *
 * - A batch counts once: `add` ignores a number that is not above the isolate's last one.
 * - A message counts once: the store does the same with the numbers of this collector, and a message never changes.
 * - The alarm seals and delivers, and tries again after a failure. A reader may ask for it earlier. Both may run at the
 *   same time.
 */
export class MetricsCollector extends DurableObject<CollectorEnv> {
  readonly #sql = this.ctx.storage.sql;
  #isAlarmSet = false;

  add(sender: string, number: number, counts: ByMinute): void {
    this.#createTables();
    const nowMs = systemClock.nowMs();
    const known = this.#sql
      .exec<{ number: number; counts: string }>(`SELECT number, counts FROM sender WHERE id = ?`, sender)
      .toArray()[0];
    if (known !== undefined && known.number >= number) return;
    const sum: ByMinute = known === undefined || known.counts === "" ? new Map() : decodeMinutes(known.counts);
    mergeMinutes(sum, counts);
    const text = encodeMinutes(sum);
    this.ctx.storage.transactionSync(() => {
      this.#sql.exec(
        `INSERT INTO sender (id, number, seen_at, counts) VALUES (?1, ?2, ?3, ?4)
          ON CONFLICT (id) DO UPDATE SET number = ?2, seen_at = ?3, counts = ?4`,
        sender,
        number,
        nowMs,
        text.length > LIMITS.heldChars ? "" : text,
      );
      if (text.length > LIMITS.heldChars) this.#write(sum);
    });
    if (this.#isAlarmSet) return;
    this.#isAlarmSet = true;
    this.ctx.waitUntil(this.#ensureAlarm(nowMs + LIMITS.passOnMs));
  }

  /** The last number of a sender; 0 if it is not known. */
  lastNumber(sender: string): number {
    if (!hasTable(this.#sql, COLLECTOR_SCHEMA.table)) return 0;
    return (
      this.#sql.exec<{ number: number }>(`SELECT number FROM sender WHERE id = ?`, sender).toArray()[0]?.number ?? 0
    );
  }

  /** Passes on everything. Throws if a store does not answer; the messages that are left stay here. */
  async passOn(): Promise<void> {
    if (!hasTable(this.#sql, COLLECTOR_SCHEMA.table)) return;
    this.#seal();
    const from = this.ctx.id.toString();
    for (;;) {
      const message = this.#sql
        .exec<{ number: number; store: string; counts: string }>(
          `SELECT number, store, counts FROM message ORDER BY number LIMIT 1`,
        )
        .toArray()[0];
      if (message === undefined) return;
      const { number, store, counts } = message;
      await this.env.METRICS_STORE.getByName(store).put(from, number, counts);
      this.#sql.exec(`DELETE FROM message WHERE number = ?`, number);
    }
  }

  override async alarm(): Promise<void> {
    this.#isAlarmSet = false;
    if (!hasTable(this.#sql, COLLECTOR_SCHEMA.table)) return;
    const nowMs = systemClock.nowMs();
    // A store that does not answer now is asked again by the next alarm.
    const passed = await this.passOn().then(
      () => true,
      () => false,
    );
    this.#sql.exec(`DELETE FROM sender WHERE counts = '' AND seen_at < ?`, nowMs - LIMITS.senderMs);
    if (!passed) await this.#ensureAlarm(nowMs + LIMITS.passOnMs);
  }

  #seal(): void {
    this.ctx.storage.transactionSync(() => {
      const all: ByMinute = new Map();
      for (const { counts } of this.#sql.exec<{ counts: string }>(`SELECT counts FROM sender WHERE counts <> ''`))
        mergeMinutes(all, decodeMinutes(counts));
      if (all.size === 0) return;
      this.#sql.exec(`UPDATE sender SET counts = '' WHERE counts <> ''`);
      this.#write(all);
    });
  }

  /** Adds messages with these counts, or drops the counts if too many messages wait. */
  #write(counts: ByMinute): void {
    const { waiting } = this.#sql.exec<{ waiting: number }>(`SELECT count(*) AS waiting FROM message`).one();
    if (waiting >= LIMITS.waitingMessages) return;
    const stores = new Map<string, ByMinute[]>();
    for (const [minute, tenants] of counts)
      for (const [tenant, series] of tenants) {
        const parts = getOrMake(stores, placeOf(tenant).store, () => [new Map()] as ByMinute[]);
        if (countTenants(parts.at(-1)!) >= LIMITS.messageTenants) parts.push(new Map());
        mergeTenants(getOrMake(parts.at(-1)!, minute, newTenants), new Map([[tenant, series]]));
      }
    for (const [store, parts] of stores)
      for (const part of parts)
        this.#sql.exec(`INSERT INTO message (store, counts) VALUES (?, ?)`, store, encodeMinutes(part));
  }

  #createTables(): void {
    if (hasTable(this.#sql, COLLECTOR_SCHEMA.table)) return;
    this.ctx.storage.transactionSync(() => {
      for (const statement of SCHEMA) this.#sql.exec(statement);
    });
  }

  /** Sets the alarm unless one is set: an object that is evicted again and again would always postpone it. */
  async #ensureAlarm(timeMs: number): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(timeMs);
  }
}

const countTenants = (part: ByMinute): number => [...part.values()].reduce((sum, tenants) => sum + tenants.size, 0);

interface CollectorEnv {
  readonly METRICS_STORE: DurableObjectNamespace<MetricsStore>;
}

export const COLLECTOR_SCHEMA = { object: "MetricsCollector", table: "collector", version: 1 } as const;

/** `message.number` is never used twice. */
const SCHEMA = [
  `CREATE TABLE collector (schema_version INTEGER NOT NULL) STRICT`,
  `INSERT INTO collector VALUES (${COLLECTOR_SCHEMA.version})`,
  `CREATE TABLE sender (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    counts TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE message (number INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, counts TEXT NOT NULL) STRICT`,
];
