import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

/** A product as a caller sends it. */
export interface ProductFields {
  readonly name: string;
  readonly price: { readonly amount: number; readonly currency: string };
}

export interface Product extends ProductFields {
  readonly id: string;
  /** A file of the media service. */
  readonly picture: string | undefined;
}

/** A change that the platform has not acknowledged yet. */
export interface Waiting {
  /** Increases with every change, so that a reader of several topics can order them. */
  readonly change: number;
  /** Sent as `Idempotency-Key`, equal at every attempt. */
  readonly key: string;
  readonly tenant: string;
  readonly eventType: EventType;
  /** The event's data without the number of the change. */
  readonly product: string;
}

export const EVENT_TYPES = ["product-created", "product-updated", "product-deleted"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** After this time, an expected picture is unused: its upload has failed. */
const UPLOAD_MS = 10 * 60_000;

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS product (
    tenant TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL,
    picture TEXT, PRIMARY KEY (tenant, id)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS outbox (
    change INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, tenant TEXT NOT NULL, event_type TEXT NOT NULL,
    product TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS outbox_by_tenant ON outbox (tenant, change);
  CREATE TABLE IF NOT EXISTS unused_picture (
    file TEXT PRIMARY KEY, tenant TEXT NOT NULL, due_ms INTEGER NOT NULL) STRICT;`;

/**
 * Products in a small database of their own, each row with its tenant.
 *
 * The outbox makes events reliable: a product and its event are written in one transaction, so neither exists without
 * the other, whenever the process dies. The event leaves the outbox when the platform has acknowledged it
 * (deliveries.ts). Pictures work in reverse: a file is on the list of unused ones before it is committed, and leaves
 * it in the transaction that gives it to a product.
 */
export class ProductStore {
  readonly #db: DatabaseSync;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(SCHEMA);
  }

  close(): void {
    this.#db.close();
  }

  find(tenant: string, id: string): Product | undefined {
    const row = this.#db.prepare("SELECT * FROM product WHERE tenant = ? AND id = ?").get(tenant, id);
    return row === undefined ? undefined : toProduct(row);
  }

  /** Ordered by id: those after `after`, or all but the first `skip`. */
  list(tenant: string, page: { after: string | undefined; skip: number; limit: number }): Product[] {
    const { after = "", skip, limit } = page;
    return this.#db
      .prepare("SELECT * FROM product WHERE tenant = ? AND id > ? ORDER BY id LIMIT ? OFFSET ?")
      .all(tenant, after, limit, after === "" ? skip : 0)
      .map(toProduct);
  }

  /** Makes or replaces a product. An equal product is no change, so it has no event. The picture stays. */
  put(tenant: string, id: string, { name, price }: ProductFields): { product: Product; created: boolean } {
    return this.#inTransaction(() => {
      const before = this.find(tenant, id);
      const product: Product = { id, name, price, picture: before?.picture };
      if (before !== undefined && JSON.stringify(before) === JSON.stringify(product))
        return { product, created: false };
      this.#db
        .prepare(
          `INSERT INTO product (tenant, id, name, amount, currency) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET name = excluded.name, amount = excluded.amount, currency = excluded.currency`,
        )
        .run(tenant, id, name, price.amount, price.currency);
      this.#announce(tenant, before === undefined ? "product-created" : "product-updated", product);
      return { product, created: before === undefined };
    });
  }

  /** Returns whether there was one. */
  remove(tenant: string, id: string): boolean {
    return this.#inTransaction(() => {
      const product = this.find(tenant, id);
      if (product === undefined) return false;
      this.#db.prepare("DELETE FROM product WHERE tenant = ? AND id = ?").run(tenant, id);
      if (product.picture !== undefined) this.#noteUnused(tenant, product.picture, 0);
      this.#announce(tenant, "product-deleted", product);
      return true;
    });
  }

  /** Notes a file before the media service has it. */
  expectPicture(tenant: string, file: string): void {
    this.#noteUnused(tenant, file, Date.now() + UPLOAD_MS);
  }

  /** Gives an expected file to the product and returns the one before; undefined if the product is gone. */
  setPicture(tenant: string, id: string, file: string): Product | undefined {
    return this.#inTransaction(() => {
      const before = this.find(tenant, id);
      const { changes } = this.#db.prepare("DELETE FROM unused_picture WHERE file = ?").run(file);
      if (before === undefined || changes === 0) {
        this.#noteUnused(tenant, file, 0);
        return undefined;
      }
      this.#db.prepare("UPDATE product SET picture = ? WHERE tenant = ? AND id = ?").run(file, tenant, id);
      if (before.picture !== undefined) this.#noteUnused(tenant, before.picture, 0);
      const product = { ...before, picture: file };
      this.#announce(tenant, "product-updated", product);
      return product;
    });
  }

  /** The oldest waiting change of each tenant, because a tenant's events leave in order. */
  firstWaiting(): Waiting[] {
    const rows = this.#db
      .prepare("SELECT * FROM outbox WHERE change IN (SELECT min(change) FROM outbox GROUP BY tenant) ORDER BY change")
      .all();
    return rows.map((row) => ({
      change: Number(row["change"]),
      key: String(row["key"]),
      tenant: String(row["tenant"]),
      eventType: String(row["event_type"]) as EventType,
      product: String(row["product"]),
    }));
  }

  forgetWaiting(change: number): void {
    this.#db.prepare("DELETE FROM outbox WHERE change = ?").run(change);
  }

  unusedPictures(): { tenant: string; file: string }[] {
    const rows = this.#db
      .prepare("SELECT tenant, file FROM unused_picture WHERE due_ms <= ? LIMIT 100")
      .all(Date.now());
    return rows.map((row) => ({ tenant: String(row["tenant"]), file: String(row["file"]) }));
  }

  forgetPicture(file: string): void {
    this.#db.prepare("DELETE FROM unused_picture WHERE file = ?").run(file);
  }

  #announce(tenant: string, eventType: EventType, product: Product): void {
    this.#db
      .prepare("INSERT INTO outbox (key, tenant, event_type, product) VALUES (?, ?, ?, ?)")
      .run(randomUUID(), tenant, eventType, JSON.stringify(product));
  }

  #noteUnused(tenant: string, file: string, dueMs: number): void {
    this.#db.prepare("INSERT INTO unused_picture (file, tenant, due_ms) VALUES (?, ?, ?)").run(file, tenant, dueMs);
  }

  #inTransaction<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      this.#db.exec("ROLLBACK");
      throw error;
    }
  }
}

const toProduct = (row: Record<string, unknown>): Product => ({
  id: String(row["id"]),
  name: String(row["name"]),
  price: { amount: Number(row["amount"]), currency: String(row["currency"]) },
  picture: typeof row["picture"] === "string" ? row["picture"] : undefined,
});
