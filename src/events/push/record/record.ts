import { scopeMatches } from "../../../platform/model/scope-pattern.ts";

/**
 * A push subscription as stored in D1: what the client asked for. The object knows its progress
 * (push-subscription.do.ts).
 */
export interface PushRecord extends PushKey {
  /** Random; names the object. A subscription that is created again gets another id. */
  readonly id: string;
  /** `<owner>.<eventType>` */
  readonly topic: string;
  /** True if it was made by the topic's owner, who needs no scope. */
  readonly asOwner: boolean;
  /** Undefined if unknown. */
  readonly made: PushMaking | undefined;
  /** Why nothing is delivered; undefined while its right exists. Computed, never stored. */
  readonly halt?: Halt | undefined;
  readonly endpoint: string;
  readonly username: string;
  /** See credentials.ts. */
  readonly credentials: string;
  /** The id of the key that `credentials` is sealed under. */
  readonly sealKey: string;
  readonly state: RecordState;
  /** State of the handshake; undefined if the endpoint is not asked. */
  readonly verification?: Verification | undefined;
  /** Increases with every change by a client, and when it is disabled. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

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
 * - `owner_changed`: made by the owner's right, but the client no longer has the owner's name.
 * - `scope_lost`: the client is no longer registered for a scope that covers the topic.
 */
const HALTS = ["client_disabled", "tenant_disabled", "owner_changed", "scope_lost"] as const;
export type Halt = (typeof HALTS)[number];

/**
 * `disabled`: the endpoint responded 410. `unverified`: it is being asked whether it wants the events. `failed`: it
 * did not confirm. An update enables the subscription or asks again.
 */
export type RecordState = "active" | "unverified" | "failed" | "disabled";
export type Verification = "pending" | "done" | "failed";

/** State of a subscription after an update. */
export const stateBy = (verification: Verification | undefined): RecordState =>
  verification === "pending" ? "unverified" : verification === "failed" ? "failed" : "active";

/** The value of the state column, which ignores handshakes. */
export const storedState = (state: RecordState): "active" | "disabled" => (state === "active" ? "active" : "disabled");

export const COLUMNS = `id, topic, incarnation, client, name, as_owner, made_in_tenant, made_by_request, made_by_scope,
  endpoint, username, credentials, seal_key, state, verification, version, created_at, updated_at`;

/**
 * The missing right at this moment, except for the scope; isolates remember older client records. An owner's name has
 * exactly one dot, so no other name followed by a dot is a prefix of the topic's.
 */
const HALT = `CASE
  WHEN NOT EXISTS (SELECT 1 FROM client WHERE id = push_subscription.client AND disabled = 0) THEN 'client_disabled'
  WHEN EXISTS (SELECT 1 FROM tenant WHERE disabled = 1 AND id IN
      (made_in_tenant, (SELECT tenant FROM client WHERE id = push_subscription.client))) THEN 'tenant_disabled'
  WHEN as_owner = 1 AND NOT EXISTS (SELECT 1 FROM client WHERE id = push_subscription.client
      AND substr(push_subscription.topic, 1, length(client.name) + 1) = client.name || '.') THEN 'owner_changed'
  END AS halt`;
/** The client's scopes that may cover the topic's, which starts with `?1`. `haltOf` checks them exactly. */
const COVERING = `(SELECT json_group_array(listed.value) FROM client, json_each(client.scopes) AS listed
    WHERE client.id = push_subscription.client AND (listed.value = ?1 || topic OR (substr(listed.value, -1) = '*'
      AND substr(?1 || topic, 1, length(listed.value) - 1) = substr(listed.value, 1, length(listed.value) - 1)))
  ) AS covering`;

const SELECTED = `id, topic, incarnation, client, name, as_owner AS asOwner, made_in_tenant AS madeInTenant,
  made_by_request AS madeByRequest, made_by_scope AS madeByScope, endpoint, username, credentials, seal_key AS sealKey, state,
  verification, version, created_at AS createdAtMs, updated_at AS updatedAtMs`;

/** Reads records. */
export const SELECT = `SELECT ${SELECTED}, ${HALT}, ${COVERING} FROM push_subscription`;

type Columns = Omit<PushRecord, "asOwner" | "made" | "halt" | "verification" | "state">;

export interface PushRow extends Columns {
  readonly asOwner: number;
  readonly madeInTenant: string | null;
  readonly madeByRequest: string | null;
  readonly madeByScope: string | null;
  readonly state: "active" | "disabled";
  readonly verification: Verification | null;
  readonly halt: Halt | null;
  readonly covering: string;
}

/** `topicScope` is the beginning of every topic's scope. */
export function toRecord(row: PushRow, topicScope: string): PushRecord {
  const {
    asOwner,
    madeInTenant,
    madeByRequest,
    madeByScope,
    state,
    verification,
    halt: _,
    covering: __,
    ...rest
  } = row;
  return {
    ...rest,
    asOwner: asOwner === 1,
    made:
      madeByRequest === null
        ? undefined
        : { tenant: madeInTenant ?? "", requestId: madeByRequest, scope: madeByScope ?? undefined },
    halt: haltOf(row, topicScope),
    state: verification === null || verification === "done" ? state : stateBy(verification),
    verification: verification ?? undefined,
  };
}

function haltOf(row: PushRow, topicScope: string): Halt | undefined {
  if (row.halt !== null || row.asOwner === 1) return row.halt ?? undefined;
  const covering = JSON.parse(row.covering) as readonly string[];
  return covering.some((pattern) => scopeMatches(pattern, topicScope + row.topic)) ? undefined : "scope_lost";
}
