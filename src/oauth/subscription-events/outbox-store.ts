import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { SubscriptionEventType, SubscriptionSnapshot } from "./events.ts";

export interface OutboxRow {
  readonly seq: number;
  readonly id: string;
  readonly eventType: SubscriptionEventType;
  readonly tenant: string;
  readonly snapshot: SubscriptionSnapshot;
}

/**
 * The transaction that changes the subscription makes the snapshot, so it shows that moment. The built-in package and
 * services have no rows: ?3 to ?5 are the package's id, version and organization, ?6 all built-in services.
 */
const CREATED = `
  INSERT INTO outbox (id, event_type, tenant, created_at, snapshot)
  SELECT ?1, 'subscriptionCreated', tenant.id, ?2, json_object(
    'id', subscription.id, 'tenant', tenant.id, 'org', tenant.organization, 'createdAt', subscription.created_at,
    'package', json_object(
      'id', subscription.package, 'version', coalesce(package.version, ?4), 'org', coalesce(package.organization, ?5),
      'services', json((SELECT json_group_array(json_object('name', name, 'scopes', json(scopes))) FROM (
        SELECT name, scopes FROM service
          WHERE name IN (SELECT service FROM package_service WHERE package = subscription.package)
        UNION ALL SELECT value ->> 'name', value -> 'scopes' FROM json_each(?6)
          WHERE (value ->> 'inPackage' AND subscription.package = ?3)
            OR value ->> 'name' IN (SELECT service FROM package_service WHERE package = subscription.package)
        ORDER BY name)))))
  FROM subscription JOIN tenant ON tenant.id = subscription.tenant
    LEFT JOIN package ON package.id = subscription.package
  WHERE subscription.id = ?7`;
/** `cancelledAt` is never before `createdAt`, even if clocks differ. */
const CANCELLED = `
  INSERT INTO outbox (id, event_type, tenant, created_at, snapshot)
  SELECT ?1, 'subscriptionCancelled', tenant.id, ?2, json_object(
    'id', subscription.id, 'tenant', tenant.id, 'org', tenant.organization, 'createdAt', subscription.created_at,
    'cancelledAt', max(?2, subscription.created_at),
    'package', json_object(
      'id', subscription.package, 'version', coalesce(package.version, ?3), 'org', coalesce(package.organization, ?4),
      'services', json('[]')))
  FROM subscription JOIN tenant ON tenant.id = subscription.tenant
    LEFT JOIN package ON package.id = subscription.package
  WHERE subscription.tenant = ?5 AND subscription.package = ?6`;

/** A lease that ends more than two lease times from now counts as free: the holder's clock was far ahead. */
const ACQUIRE = `
  INSERT INTO lease (name, holder, until_at) VALUES ('outbox', ?1, ?3)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_at = excluded.until_at
  WHERE until_at <= ?2 OR until_at > ?3 + ?3 - ?2`;
const EXTEND = `UPDATE lease SET until_at = ?2 WHERE name = 'outbox' AND holder = ?1`;
const RELEASE = `DELETE FROM lease WHERE name = 'outbox' AND holder = ?1`;

const PENDING = `SELECT seq, id, event_type AS eventType, tenant, snapshot FROM outbox WHERE seq > ?1 ORDER BY seq LIMIT ?2`;
const MORE = `SELECT seq FROM outbox WHERE seq > ?1 LIMIT 1`;
const WAITING = `
  SELECT count(*) AS rows, min(created_at) AS sinceMs
  FROM (SELECT created_at FROM outbox WHERE seq > 0 ORDER BY seq LIMIT 1000)`;
const REMOVE = `DELETE FROM outbox WHERE seq = ?1`;

/** The outbox, whose rows are written with a change and removed after publication, and the lease of the publisher. */
export function createOutboxStore(db: D1Database, builtIn: BuiltIn) {
  const { id: packageId, version, services } = builtIn.package;
  const builtInServices = JSON.stringify(
    builtIn.services.map(({ name, scopes }) => ({ name, scopes, inPackage: services.includes(name) })),
  );
  return {
    /** Adds a row if the subscription exists. Runs after its insertion, in the same transaction. */
    created: (outboxId: string, subscriptionId: string, nowMs: number): D1PreparedStatement =>
      db.prepare(CREATED).bind(outboxId, nowMs, packageId, version, builtIn.tenant, builtInServices, subscriptionId),
    /** Adds a row if the subscription exists. Runs before its removal, in the same transaction. */
    cancelled: (outboxId: string, tenant: string, ofPackage: string, nowMs: number): D1PreparedStatement =>
      db.prepare(CANCELLED).bind(outboxId, nowMs, version, builtIn.tenant, tenant, ofPackage),
    /** Takes the lease unless another holder has it. */
    async acquire(holder: string, nowMs: number, untilMs: number): Promise<boolean> {
      return (await db.prepare(ACQUIRE).bind(holder, nowMs, untilMs).run()).meta.changes === 1;
    },
    /** Rows after `afterSeq`, in the order of their transactions. */
    async pending(afterSeq: number, limit: number): Promise<readonly OutboxRow[]> {
      const { results } = await db.prepare(PENDING).bind(afterSeq, limit).all<StoredRow>();
      return results.map((row) => ({ ...row, snapshot: JSON.parse(row.snapshot) as SubscriptionSnapshot }));
    },
    /** The number of rows, counted up to 1,000, and the time of the first one. */
    async waiting(): Promise<{ readonly rows: number; readonly sinceMs: number | null }> {
      return (await db.prepare(WAITING).first()) ?? { rows: 0, sinceMs: null };
    },
    /** Extends the lease and deletes the published row `seq`, if given. Returns false if the lease was lost. */
    async extend(holder: string, untilMs: number, seq: number | undefined): Promise<boolean> {
      const extend = db.prepare(EXTEND).bind(holder, untilMs);
      const results = await db.batch([extend, ...(seq === undefined ? [] : [db.prepare(REMOVE).bind(seq)])]);
      return results[0]?.meta.changes === 1;
    },
    /** Releases the lease. Returns true if there are rows after `afterSeq` at that moment. */
    async release(holder: string, afterSeq: number): Promise<boolean> {
      const results = await db.batch([db.prepare(RELEASE).bind(holder), db.prepare(MORE).bind(afterSeq)]);
      return (results[1]?.results.length ?? 0) > 0;
    },
  };
}

type StoredRow = Omit<OutboxRow, "snapshot"> & { readonly snapshot: string };
