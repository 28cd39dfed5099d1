import { scopeMatches } from "../../../platform/model/scope-pattern.ts";

/**
 * A push subscription as stored in D1: its configuration. Its object has its progress (push-subscription.do.ts).
 */
export interface PushRecord extends PushKey {
  /** Random; names the object. A subscription that is created again gets another id. */
  readonly id: string;
  /** `<owner>.<eventType>` */
  readonly topic: string;
  /** True if the topic's owner created it, who needs no scope. */
  readonly asOwner: boolean;
  /** Undefined if unknown. */
  readonly made: PushMaking | undefined;
  /** Why nothing is delivered; undefined while its right exists. Computed, never stored. */
  readonly halt?: Halt | undefined;
  /** When `halt` was read, if it comes from a cache. */
  readonly asOfMs?: number | undefined;
  readonly endpoint: string;
  readonly username: string;
  /** See credentials.ts. */
  readonly credentials: string;
  /** The id of the key that `credentials` is sealed under. */
  readonly sealKey: string;
  readonly state: RecordState;
  /** State of the handshake; undefined if the subscription has none. */
  readonly verification?: Verification | undefined;
  /** As its object reported at the end of a run. */
  readonly trouble?: Trouble | undefined;
  /** Increases with every change by the client, and when the record is disabled or its handshake ends. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The fields of a record that are compared with the directory. */
export type PlacedRecord = Pick<PushRecord, "id" | "topic" | "incarnation" | "client" | "createdAtMs">;

/** The client's key of a subscription. */
export interface PushKey {
  readonly incarnation: string;
  readonly client: string;
  readonly name: string;
}

/** The token that created it, which was the client's own. */
export interface PushMaking {
  readonly tenant: string;
  readonly requestId: string;
  /** The scope in the token; undefined if the client owns the topic. */
  readonly scope: string | undefined;
}

/**
 * A right that no longer exists.
 * - `client_disabled`, `tenant_disabled`: the client, or the tenant of the creating token, is disabled.
 * - `owner_changed`: the topic's owner created it, but the client no longer has the owner's name.
 * - `scope_lost`: the client is no longer registered for a scope that covers the topic.
 */
const HALTS = ["client_disabled", "tenant_disabled", "owner_changed", "scope_lost"] as const;
export type Halt = (typeof HALTS)[number];

/**
 * `disabled`: the endpoint responded 410. `unverified`: the handshake is running. `failed`: the endpoint did not
 * confirm that it wants the events. An update enables the subscription or starts the handshake again.
 */
export type RecordState = "active" | "unverified" | "failed" | "disabled";
export type Verification = "pending" | "done" | "failed";

/** `deliveries`: there are dead letters or events that fail. `right`: the client may not have the subscription. */
export type Trouble = "deliveries" | "right";

/** State of a subscription after an update. */
export const stateBy = (verification: Verification | undefined): RecordState =>
  verification === "pending" ? "unverified" : verification === "failed" ? "failed" : "active";

/** The value of the state column, which ignores handshakes. */
export const storedState = (state: RecordState): "active" | "disabled" => (state === "active" ? "active" : "disabled");

export const COLUMNS = `id, topic, incarnation, client, name, as_owner, made_in_tenant, made_by_request, made_by_scope,
  endpoint, username, credentials, seal_key, state, verification, version, created_at, updated_at`;

/** The rights of a client in the tenant that a subscription was created in, as the directory has them. */
export interface ClientRight {
  readonly isDisabled: 0 | 1;
  /** True if the client's own tenant or that of the creation is disabled. */
  readonly isTenantDisabled: 0 | 1;
  readonly name: string;
  /** Scopes that may cover the topic's scope; `haltOf` checks them exactly. */
  readonly scopes: readonly string[];
}

/**
 * SQL for the directory: the `ClientRight` of a row of `push_subscription` as JSON; null if its client does not exist.
 * `?1`: the prefix of topic scopes. Without a topic, scopes of all topics are included.
 */
export const RIGHT = `(SELECT json_object('isDisabled', client.disabled, 'name', client.name, 'isTenantDisabled', EXISTS (
    SELECT 1 FROM tenant WHERE tenant.disabled = 1 AND tenant.id IN (made_in_tenant, client.tenant)),
  'scopes', json((SELECT json_group_array(listed.value) FROM json_each(client.scopes) AS listed
    WHERE listed.value = ?1 || topic OR topic IS NULL AND substr(listed.value, 1, length(?1)) = ?1
      OR (substr(listed.value, -1) = '*' AND (topic IS NULL
        OR substr(?1 || topic, 1, length(listed.value) - 1) = substr(listed.value, 1, length(listed.value) - 1))))))
  FROM client WHERE client.id = push_subscription.client)`;

const SELECTED = `id, topic, incarnation, client, name, as_owner AS asOwner, made_in_tenant AS madeInTenant,
  made_by_request AS madeByRequest, made_by_scope AS madeByScope, endpoint, username, credentials, seal_key AS sealKey, state,
  verification, trouble, version, created_at AS createdAtMs, updated_at AS updatedAtMs`;

/** Reads records: in the directory with their rights, in another shard without. */
export const SELECT = `SELECT ${SELECTED}, ${RIGHT} AS clientRight FROM push_subscription`;
export const SELECT_IN_SHARD = `SELECT ${SELECTED}, NULL AS clientRight FROM push_subscription`;

type Columns = Omit<PushRecord, "asOwner" | "made" | "halt" | "verification" | "state" | "trouble" | "asOfMs">;

export interface PushRow extends Columns {
  readonly asOwner: number;
  readonly trouble: Trouble | null;
  readonly madeInTenant: string | null;
  readonly madeByRequest: string | null;
  readonly madeByScope: string | null;
  readonly state: "active" | "disabled";
  readonly verification: Verification | null;
  readonly clientRight: string | null;
}

/** A record without its right. */
export function toRecord(row: PushRow): PushRecord {
  const {
    asOwner,
    trouble,
    madeInTenant,
    madeByRequest,
    madeByScope,
    state,
    verification,
    clientRight: _,
    ...rest
  } = row;
  return {
    ...rest,
    asOwner: asOwner === 1,
    trouble: trouble ?? undefined,
    made:
      madeByRequest === null
        ? undefined
        : { tenant: madeInTenant ?? "", requestId: madeByRequest, scope: madeByScope ?? undefined },
    state: verification === null || verification === "done" ? state : stateBy(verification),
    verification: verification ?? undefined,
  };
}

/** Adds why nothing is delivered, if so. `topicScope` is the prefix of topic scopes. */
export const withRight = (record: PushRecord, right: ClientRight | null, topicScope: string): PushRecord => ({
  ...record,
  halt: haltOf(record, right, topicScope),
});

/** An owner's name has exactly one dot, so no other name followed by a dot is a prefix of the topic's. */
function haltOf({ asOwner, topic }: PushRecord, right: ClientRight | null, topicScope: string): Halt | undefined {
  if (right === null || right.isDisabled === 1) return "client_disabled";
  if (right.isTenantDisabled === 1) return "tenant_disabled";
  if (asOwner) return topic.startsWith(`${right.name}.`) ? undefined : "owner_changed";
  return right.scopes.some((pattern) => scopeMatches(pattern, topicScope + topic)) ? undefined : "scope_lost";
}
