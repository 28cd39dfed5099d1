import type { BuiltIn } from "../../platform/built-in.ts";
import type { SubscriptionEventType, SubscriptionSnapshot } from "./events.ts";

/** D1: events that a transaction decided and that are yet to be published, and the lease of who publishes them. */
export interface OutboxStore {
  /** Behind the insertion of a subscription: one row when the subscription of this id is there, else none. */
  created(outboxId: string, subscriptionId: string, nowMs: number): D1PreparedStatement;
  /** In front of the removal of a subscription: one row when there is one to remove, else none. */
  cancelled(outboxId: string, tenant: string, packageId: string, nowMs: number): D1PreparedStatement;
  /** Takes the lease unless another holds it. */
  acquire(holder: string, nowMs: number, untilMs: number): Promise<boolean>;
  /** Rows behind `afterSeq` in the order of their transactions. */
  pending(afterSeq: number, limit: number): Promise<readonly OutboxRow[]>;
  /** Extends the lease, and removes a row that was published (`seq`). False: the lease is another's now. */
  keep(holder: string, untilMs: number, seq: number | undefined): Promise<boolean>;
  /** Gives the lease back; true when rows behind `afterSeq` are there in that moment. */
  release(holder: string, afterSeq: number): Promise<boolean>;
}

export interface OutboxRow {
  readonly seq: number;
  readonly id: string;
  readonly eventType: SubscriptionEventType;
  readonly tenant: string;
  readonly snapshot: SubscriptionSnapshot;
}

/**
 * The snapshot is made in the transaction that changes the subscription, so it is the state of that very moment. The
 * built-in package and services have no rows: ?3 to ?5 are the package's id, version and organization, ?6 all services.
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
/** Never before it was created, whichever clocks said so. */
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

/** One that ends further away than two leases was taken by a clock that is far ahead, and is nobody's. */
const ACQUIRE = `
  INSERT INTO lease (name, holder, until_at) VALUES ('outbox', ?1, ?3)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_at = excluded.until_at
  WHERE until_at <= ?2 OR until_at > ?3 + ?3 - ?2`;
const KEEP = `UPDATE lease SET until_at = ?2 WHERE name = 'outbox' AND holder = ?1`;
const RELEASE = `DELETE FROM lease WHERE name = 'outbox' AND holder = ?1`;

const PENDING = `SELECT seq, id, event_type, tenant, snapshot FROM outbox WHERE seq > ?1 ORDER BY seq LIMIT ?2`;
const MORE = `SELECT seq FROM outbox WHERE seq > ?1 LIMIT 1`;
const REMOVE = `DELETE FROM outbox WHERE seq = ?1`;

interface Row {
  seq: number;
  id: string;
  event_type: SubscriptionEventType;
  tenant: string;
  snapshot: string;
}

export function createOutboxStore(db: D1Database, builtIn: BuiltIn): OutboxStore {
  const { id: packageId, version, services } = builtIn.package;
  const builtInServices = JSON.stringify(
    builtIn.services.map(({ name, scopes }) => ({ name, scopes, inPackage: services.includes(name) })),
  );
  return {
    created: (outboxId, subscriptionId, nowMs) =>
      db.prepare(CREATED).bind(outboxId, nowMs, packageId, version, builtIn.tenant, builtInServices, subscriptionId),
    cancelled: (outboxId, tenant, ofPackage, nowMs) =>
      db.prepare(CANCELLED).bind(outboxId, nowMs, version, builtIn.tenant, tenant, ofPackage),
    async acquire(holder, nowMs, untilMs) {
      return (await db.prepare(ACQUIRE).bind(holder, nowMs, untilMs).run()).meta.changes === 1;
    },
    async pending(afterSeq, limit) {
      const { results } = await db.prepare(PENDING).bind(afterSeq, limit).all<Row>();
      return results.map(({ seq, id, event_type: eventType, tenant, snapshot }) => ({
        seq,
        id,
        eventType,
        tenant,
        snapshot: JSON.parse(snapshot) as SubscriptionSnapshot,
      }));
    },
    async keep(holder, untilMs, seq) {
      const keep = db.prepare(KEEP).bind(holder, untilMs);
      const results = await db.batch([keep, ...(seq === undefined ? [] : [db.prepare(REMOVE).bind(seq)])]);
      return results[0]?.meta.changes === 1;
    },
    async release(holder, afterSeq) {
      const results = await db.batch([db.prepare(RELEASE).bind(holder), db.prepare(MORE).bind(afterSeq)]);
      return (results[1]?.results.length ?? 0) > 0;
    },
  };
}
