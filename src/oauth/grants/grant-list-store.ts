import type { Paging } from "../../http/paging.ts";
import type { Authorization } from "../model/authorization.ts";
import type { TrustStore } from "../tokens/trust-store.ts";

/** The refresh grants of a user, as the user looks through them. */
export interface ListedGrant {
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly authorization: Authorization;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number;
}

/** What a user lets a client do for as long as its grants live, or allowed it until it is taken back. */
export interface Application {
  readonly clientId: string;
  readonly clientName: string;
  /** What its grants are good for, each once. */
  readonly access: readonly Pick<Authorization, "tenant" | "org" | "openid" | "scopes">[];
  /** Of the oldest grant, or of what was allowed first. */
  readonly createdAtMs: number;
  /** Of any of them; as `createdAtMs` until one is used. */
  readonly lastUsedAtMs: number;
}

/** Comes behind `(createdAtMs, id)`, newest first. */
export interface GrantCursor {
  readonly createdAtMs: number;
  readonly id: string;
}

export interface GrantListStore {
  /** Those of one client; one more than the page's size, where there are so many. */
  page(
    email: string,
    clientId: string,
    after: GrantCursor | undefined,
    paging: Pick<Paging, "pageSize" | "skip">,
  ): Promise<readonly ListedGrant[]>;
  /** The clients that hold grants of the user or are allowed something, at most `limit`, the one that was used last first. */
  applications(email: string, limit: number): Promise<readonly Application[]>;
  /** At most `limit` ids. */
  grantIds(email: string, clientId: string, limit: number): Promise<readonly string[]>;
  belongsToUser(email: string, clientId: string, grantId: string): Promise<boolean>;
  /**
   * Ends what the client has of the user besides grants that were listed before: codes, grants that came meanwhile, and by a
   * row of `revocation` all that was issued until now.
   */
  revokeRestStatements(email: string, clientId: string, expiresSec: number): readonly D1PreparedStatement[];
}

/**
 * A grant whose sign-in counts no more gives nothing, and is not shown. Grants are found by their user, who has few, never by
 * their client: `+` keeps the query planner from that index.
 */
const PAGE = `
  SELECT refresh_grant.id, refresh_grant.client, client.name AS client_name, refresh_grant.authorization,
    refresh_grant.created_at, refresh_grant.last_used_at
  FROM refresh_grant JOIN client ON client.id = refresh_grant.client JOIN user ON user.email = refresh_grant.email
  WHERE refresh_grant.email = ?1 AND +refresh_grant.client = ?2
    AND (refresh_grant.created_at, refresh_grant.id) < (?3, ?4)
    AND refresh_grant.authorization ->> 'authenticatedAtMs' > user.signed_out_at
  ORDER BY refresh_grant.created_at DESC, refresh_grant.id DESC LIMIT ?5 OFFSET ?6`;
const APPLICATIONS = `
  SELECT refresh_grant.client, client.name AS client_name, min(refresh_grant.created_at) AS created_at,
    max(refresh_grant.last_used_at) AS last_used_at,
    json_group_array(DISTINCT json_remove(refresh_grant.authorization,
      '$.sessionId', '$.authenticatedAtMs', '$.provenAtMs', '$.tenantExplicit') || '') AS access
  FROM refresh_grant JOIN client ON client.id = refresh_grant.client JOIN user ON user.email = refresh_grant.email
  WHERE refresh_grant.email = ?1 AND refresh_grant.authorization ->> 'authenticatedAtMs' > user.signed_out_at
  GROUP BY refresh_grant.client ORDER BY max(refresh_grant.last_used_at) DESC, refresh_grant.client LIMIT ?2`;
/** In the shape of a grant: the place, and what may be had there. */
const CONSENTS = `
  SELECT consent.client, client.name AS client_name, min(consent.given_at) AS created_at,
    min(consent.given_at) AS last_used_at,
    json_group_array(json_object('tenant', '', 'org', consent.org, 'openid', json('false'),
      'scopes', json(consent.scopes)) || '') AS access
  FROM consent JOIN client ON client.id = consent.client AND client.tenant = consent.tenant
  WHERE consent.email = ?1 GROUP BY consent.client ORDER BY consent.client LIMIT ?2`;
const IDS = `SELECT id FROM refresh_grant WHERE email = ?1 AND +client = ?2 LIMIT ?3`;
const IS_OF = `SELECT 1 FROM refresh_grant WHERE id = ?3 AND email = ?1 AND client = ?2`;
const END_REST = [
  `DELETE FROM authorization_code WHERE email = ?1 AND +client = ?2`,
  `DELETE FROM refresh_grant WHERE email = ?1 AND +client = ?2`,
] as const;
/** Before every other in this order. */
const FIRST: GrantCursor = { createdAtMs: Number.MAX_SAFE_INTEGER, id: "" };

type Row = Record<string, string | number | null>;

export function createGrantListStore(db: D1Database, trust: Pick<TrustStore, "revokeAccessStatement">): GrantListStore {
  return {
    async page(email, clientId, after = FIRST, { pageSize, skip }) {
      const { results } = await db
        .prepare(PAGE)
        .bind(email, clientId, after.createdAtMs, after.id, pageSize + 1, skip)
        .all<Row>();
      return results.map(toListedGrant);
    },
    async applications(email, limit) {
      const found = await db.batch<Row>([APPLICATIONS, CONSENTS].map((sql) => db.prepare(sql).bind(email, limit)));
      const byClient = new Map<string, Application>();
      for (const one of found.flatMap(({ results }) => results.map(toApplication)))
        byClient.set(one.clientId, mergeApplications(byClient.get(one.clientId), one));
      return [...byClient.values()].sort((a, b) => b.lastUsedAtMs - a.lastUsedAtMs).slice(0, limit);
    },
    async grantIds(email, clientId, limit) {
      const { results } = await db.prepare(IDS).bind(email, clientId, limit).all<{ id: string }>();
      return results.map(({ id }) => id);
    },
    belongsToUser: async (email, clientId, grantId) =>
      (await db.prepare(IS_OF).bind(email, clientId, grantId).first()) !== null,
    revokeRestStatements: (email, clientId, expiresSec) => [
      ...END_REST.map((sql) => db.prepare(sql).bind(email, clientId)),
      trust.revokeAccessStatement(email, clientId, expiresSec),
    ],
  };
}

const toListedGrant = (row: Row): ListedGrant => ({
  id: String(row["id"]),
  clientId: String(row["client"]),
  clientName: String(row["client_name"]),
  authorization: JSON.parse(String(row["authorization"])) as Authorization,
  createdAtMs: Number(row["created_at"]),
  lastUsedAtMs: Number(row["last_used_at"]),
});

const mergeApplications = (known: Application | undefined, one: Application): Application =>
  known === undefined
    ? one
    : {
        ...known,
        access: [...known.access, ...one.access],
        createdAtMs: Math.min(known.createdAtMs, one.createdAtMs),
      };

const toApplication = (row: Row): Application => ({
  clientId: String(row["client"]),
  clientName: String(row["client_name"]),
  // Each one is a text by itself, by which SQLite tells them apart.
  access: (JSON.parse(String(row["access"])) as string[]).map(
    (text) => JSON.parse(text) as Application["access"][number],
  ),
  createdAtMs: Number(row["created_at"]),
  lastUsedAtMs: Number(row["last_used_at"]),
});
