import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/runtime/clock.ts";
import { hasTable } from "../platform/storage/has-table.ts";
import { PAGE_FORMAT, takePage, type ImportOutcome, type ImportPlace } from "../platform/storage/object-import.ts";
import {
  decodeMinutes,
  decodeTenants,
  encodeTenants,
  EVERYBODY,
  getOrMake,
  mergeTenants,
  newTenants,
  type ByTenant,
} from "./model/counts.ts";
import { LIMITS, startOf, STEP_NAMES, STEPS, type Step } from "./model/limits.ts";
import { placeOf } from "./model/places.ts";
import { exportPacks, type PackKey, type StorePage } from "./store-pages.ts";
import { topOf, type TenantValue, type TopAsked } from "./top.ts";

/**
 * Stores the counts of some tenants, or those of everybody.
 *
 * A row is a pack: the counts of a group of tenants in one minute, hour or day, as JSON. So the number of rows does not
 * grow with the tenants. A message is added to the packs of its minutes, their hours and their days in one transaction,
 * so that the sums of minutes, hours and days always agree. The object for everybody also has the sums since the
 * beginning.
 *
 * A collector numbers its messages, and a repeated one is ignored. The alarm deletes old packs once a day.
 */
export class MetricsStore extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  #isAlarmSet = false;

  put(from: string, number: number, text: string): void {
    const nowMs = systemClock.nowMs();
    const packs = packsOf(text, nowMs);
    this.ctx.storage.transactionSync(() => {
      this.#createTables();
      const last = this.#sql.exec<{ number: number }>(`SELECT number FROM source WHERE id = ?`, from).toArray()[0];
      if (last !== undefined && last.number >= number) return;
      this.#sql.exec(
        `INSERT INTO source (id, number, seen_at) VALUES (?1, ?2, ?3)
          ON CONFLICT (id) DO UPDATE SET number = ?2, seen_at = ?3`,
        from,
        number,
        nowMs,
      );
      for (const { step, group, atMs, tenants } of packs.values()) this.#addToPack(step, group, atMs, tenants);
    });
    if (this.#isAlarmSet) return;
    this.#isAlarmSet = true;
    this.ctx.waitUntil(this.#ensureAlarm(nowMs));
  }

  /** The counts of a tenant, as JSON, in each step from `fromMs` until before `toMs`. Empty steps are left out. */
  read(tenant: string, step: Step, fromMs: number, toMs: number): StoredCounts[] {
    if (!hasTable(this.#sql, STORE_SCHEMA.table)) return [];
    return this.#sql
      .exec<{ atMs: number; counts: string }>(
        `SELECT at AS atMs, counts ->> ?1 AS counts FROM pack
          WHERE step = ?2 AND grp = ?3 AND at >= ?4 AND at < ?5 AND counts ->> ?1 IS NOT NULL ORDER BY at`,
        pathTo(tenant),
        step,
        placeOf(tenant).group,
        fromMs,
        toMs,
      )
      .toArray();
  }

  /** The busiest of this object's tenants. */
  top(asked: TopAsked): TenantValue[] {
    if (!hasTable(this.#sql, STORE_SCHEMA.table)) return [];
    return topOf(this.#packs(asked), asked);
  }

  *#packs({ step, fromMs, toMs }: TopAsked): Iterable<string> {
    for (let group = 0; group < LIMITS.groups; group++)
      for (const { counts } of this.#sql.exec<{ counts: string }>(
        `SELECT counts FROM pack WHERE step = ? AND grp = ? AND at >= ? AND at < ?`,
        step,
        group,
        fromMs,
        toMs,
      ))
        yield counts;
  }

  /** The sums of everybody since the beginning, as JSON. */
  readTotals(): string {
    if (!hasTable(this.#sql, STORE_SCHEMA.table)) return "{}";
    const found = this.#sql
      .exec<{ counts: string }>(`SELECT counts ->> ? AS counts FROM pack WHERE step = 'ever'`, pathTo(EVERYBODY))
      .toArray()[0];
    return found?.counts ?? "{}";
  }

  exportPage(after: PackKey | undefined): StorePage {
    if (!hasTable(this.#sql, STORE_SCHEMA.table))
      return { kind: "metrics", format: PAGE_FORMAT, packs: [], next: undefined };
    return exportPacks(this.#sql, after ?? { step: "", grp: 0, at: 0 });
  }

  /** Adds a page of another store. This one need not be empty, since the platform counts its own restore. */
  async importPage(place: ImportPlace, { format, packs }: StorePage): Promise<ImportOutcome> {
    const outcome = takePage(this.ctx.storage, place, { format }, true, () => {
      this.#createTables();
      for (const { step, grp, at, counts } of packs)
        this.#addToPack(step as Step | "ever", grp, at, decodeTenants(counts));
    });
    await this.#ensureAlarm(systemClock.nowMs());
    return outcome;
  }

  override async alarm(): Promise<void> {
    this.#isAlarmSet = true;
    const nowMs = systemClock.nowMs();
    for (const step of STEP_NAMES)
      for (let group = 0; group < LIMITS.groups; group++)
        this.#sql.exec(
          `DELETE FROM pack WHERE step = ? AND grp = ? AND at < ?`,
          step,
          group,
          startOf(step, nowMs - STEPS[step].keptMs),
        );
    this.#sql.exec(`DELETE FROM source WHERE seen_at < ?`, nowMs - LIMITS.senderMs);
    await this.ctx.storage.setAlarm(nowMs + STEPS.day.ms);
  }

  #createTables(): void {
    if (!hasTable(this.#sql, STORE_SCHEMA.table)) for (const statement of SCHEMA) this.#sql.exec(statement);
  }

  #addToPack(step: Step | "ever", group: number, atMs: number, tenants: ByTenant): void {
    const found = this.#sql
      .exec<{ counts: string }>(`SELECT counts FROM pack WHERE step = ? AND grp = ? AND at = ?`, step, group, atMs)
      .toArray()[0];
    const sum: ByTenant = found === undefined ? new Map() : decodeTenants(found.counts);
    // A full pack takes no new tenants, so that its row stays within the limit of SQLite.
    const isFull = found !== undefined && found.counts.length > LIMITS.packChars;
    mergeTenants(sum, isFull ? new Map([...tenants].filter(([tenant]) => sum.has(tenant))) : tenants);
    this.#sql.exec(
      `INSERT INTO pack (step, grp, at, counts) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (step, grp, at) DO UPDATE SET counts = ?4`,
      step,
      group,
      atMs,
      encodeTenants(sum),
    );
  }

  async #ensureAlarm(nowMs: number): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(nowMs + STEPS.day.ms);
  }
}

export interface StoredCounts {
  readonly atMs: number;
  readonly counts: string;
}

interface Pack {
  readonly step: Step | "ever";
  readonly group: number;
  readonly atMs: number;
  readonly tenants: ByTenant;
}

/** The packs that a message adds to, without those that are too old to be kept. */
function packsOf(text: string, nowMs: number): Map<string, Pack> {
  const packs = new Map<string, Pack>();
  const add = (step: Step | "ever", atMs: number, tenant: string, one: ByTenant) => {
    const { group } = placeOf(tenant);
    const key = `${step} ${group} ${atMs}`;
    mergeTenants(getOrMake(packs, key, () => ({ step, group, atMs, tenants: newTenants() })).tenants, one);
  };
  for (const [minuteMs, tenants] of decodeMinutes(text))
    for (const [tenant, series] of tenants) {
      const one = new Map([[tenant, series]]);
      for (const step of STEP_NAMES)
        if (minuteMs >= nowMs - STEPS[step].keptMs) add(step, startOf(step, minuteMs), tenant, one);
      if (tenant === EVERYBODY) add("ever", 0, tenant, one);
    }
  return packs;
}

/** The JSON path to a tenant. Its name needs no escape: letters and digits, or `EVERYBODY`. */
const pathTo = (tenant: string): string => `$."${tenant}"`;

export const STORE_SCHEMA = { object: "MetricsStore", table: "store", version: 1 } as const;

const SCHEMA = [
  `CREATE TABLE store (schema_version INTEGER NOT NULL) STRICT`,
  `INSERT INTO store VALUES (${STORE_SCHEMA.version})`,
  `CREATE TABLE pack (
    step TEXT NOT NULL,
    grp INTEGER NOT NULL,
    at INTEGER NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (step, grp, at)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE source (id TEXT PRIMARY KEY, number INTEGER NOT NULL, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
];
