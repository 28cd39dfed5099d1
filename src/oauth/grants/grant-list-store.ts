import type { Paging } from "../../http/input/paging.ts";
import { isInForce } from "../consent/consent-store.ts";
import { toScopeWords, type ScopeWords } from "../consent/scope-words.ts";
import type { Application, GrantCursor, ListedGrant } from "../homes/listed-grant.ts";
import type { Authorization } from "../model/authorization.ts";
import type { TrustStore } from "../tokens/trust-store.ts";
import { createAccessStore } from "../homes/access-store.ts";

/**
 * Omits grants whose sign-in is not valid any more: they give nothing. Grants are found by user (a user has few), never
 * by client: `+` keeps the query planner from that index.
 */
const PAGE = `
  SELECT refresh_grant.id, refresh_grant.client AS clientId, client.name AS clientName, refresh_grant.authorization,
    refresh_grant.created_at AS createdAtMs, refresh_grant.last_used_at AS lastUsedAtMs
  FROM refresh_grant JOIN client ON client.id = refresh_grant.client JOIN user ON user.email = refresh_grant.email
  WHERE refresh_grant.email = ?1 AND +refresh_grant.client = ?2
    AND (refresh_grant.created_at, refresh_grant.id) < (?3, ?4)
    AND refresh_grant.authorization ->> 'authenticatedAtMs' > user.signed_out_at
  ORDER BY refresh_grant.created_at DESC, refresh_grant.id DESC LIMIT ?5 OFFSET ?6`;
const APPLICATIONS = `
  SELECT refresh_grant.client AS clientId, coalesce(nullif(client.display_name, ''), client.name) AS clientName, min(refresh_grant.created_at) AS createdAtMs,
    max(refresh_grant.last_used_at) AS lastUsedAtMs,
    json_group_array(DISTINCT json_remove(refresh_grant.authorization,
      '$.sessionId', '$.authenticatedAtMs', '$.provenAtMs', '$.tenantExplicit') || '') AS access
  FROM refresh_grant JOIN client ON client.id = refresh_grant.client JOIN user ON user.email = refresh_grant.email
  WHERE refresh_grant.email = ?1 AND refresh_grant.authorization ->> 'authenticatedAtMs' > user.signed_out_at
  GROUP BY refresh_grant.client ORDER BY max(refresh_grant.last_used_at) DESC, refresh_grant.client LIMIT ?2`;
/** A consent in the shape of a grant, unless it is void (consent/consent-store.ts). */
const CONSENTS = `
  SELECT consent.client AS clientId, coalesce(nullif(client.display_name, ''), client.name) AS clientName, min(consent.given_at) AS createdAtMs,
    min(consent.given_at) AS lastUsedAtMs,
    json_group_array(json_object('tenant', iif(consent.org LIKE 'tenant=%', substr(consent.org, 8), ''),
      'org', iif(consent.org LIKE 'tenant=%', '', consent.org), 'openid', json('false'),
      'scopes', json(consent.scopes)) || '') AS access
  FROM consent JOIN client ON client.id = consent.client AND client.tenant = consent.tenant
  WHERE consent.email = ?1 AND ${isInForce("?1")} GROUP BY consent.client ORDER BY consent.client LIMIT ?2`;
/** Texts for scopes, from the services that the person's tenants use. */
const WORDS = `
  SELECT words.key AS scope, words.value AS words FROM service, json_each(service.scope_descriptions) AS words
  WHERE service.name IN (
    SELECT name FROM service WHERE essential = 1
    UNION SELECT service.name FROM tenant_member JOIN service ON service.tenant = tenant_member.tenant
      WHERE tenant_member.email = ?1
    UNION SELECT package_service.service FROM tenant_member
      JOIN subscription ON subscription.tenant = tenant_member.tenant
      JOIN package_service ON package_service.package = subscription.package WHERE tenant_member.email = ?1)
  ORDER BY service.name LIMIT 1000`;
const NAMES = `
  SELECT id, coalesce(nullif(display_name, ''), name) AS shownName FROM client
  WHERE id IN (SELECT value FROM json_each(?1))`;
interface NameRow {
  readonly id: string;
  readonly shownName: string;
}
/** Before every grant. */
export const FIRST: GrantCursor = { createdAtMs: Number.MAX_SAFE_INTEGER, id: "" };

export type GrantListStore = ReturnType<typeof createGrantListStore>;

/** Refresh grants of the directory, as their users see and end them; grant-lists.ts adds those of other shards. */
export const createGrantListStore = (db: D1Database, trust: Pick<TrustStore, "revokeAccessStatement">) => ({
  ...createAccessStore(db),
  /** A page of the grants of one client, and one row more if there are any. */
  async page(
    email: string,
    clientId: string,
    after: GrantCursor | undefined,
    { pageSize, skip }: Pick<Paging, "pageSize" | "skip">,
  ): Promise<readonly ListedGrant[]> {
    const { createdAtMs, id } = after ?? FIRST;
    const statement = db.prepare(PAGE).bind(email, clientId, createdAtMs, id, pageSize + 1, skip);
    const { results } = await statement.all<Row<ListedGrant, "authorization">>();
    return results.map((row) => ({ ...row, authorization: JSON.parse(row.authorization) as Authorization }));
  },
  /**
   * At most `limit` clients with grants or a consent of the user, the last used first, and texts for their scopes.
   * `elsewhere`: rows of other shards, without names.
   */
  async applications(
    email: string,
    limit: number,
    elsewhere: readonly Omit<Row<Application, "access">, "clientName">[] = [],
  ): Promise<{ readonly applications: readonly Application[]; readonly words: ScopeWords }> {
    const statements = [APPLICATIONS, CONSENTS].map((sql) => db.prepare(sql).bind(email, limit));
    const clients = JSON.stringify(elsewhere.map(({ clientId }) => clientId));
    const named = elsewhere.length === 0 ? [] : [db.prepare(NAMES).bind(clients)];
    const [grants, consents, words, names] = await db.batch([...statements, db.prepare(WORDS).bind(email), ...named]);
    const nameOf = new Map(((names?.results ?? []) as NameRow[]).map(({ id, shownName }) => [id, shownName]));
    // A client that is gone has no name, and its grants give nothing.
    const ofOthers = elsewhere.flatMap((row) => {
      const clientName = nameOf.get(row.clientId);
      return clientName === undefined ? [] : [{ ...row, clientName }];
    });
    const byClient = new Map<string, Application>();
    const add = (rows: readonly Row<Application, "access">[], merge: typeof mergeApplications): void => {
      for (const application of rows.map(toApplication))
        byClient.set(application.clientId, merge(byClient.get(application.clientId), application));
    };
    add((grants?.results ?? []) as Row<Application, "access">[], mergeApplications);
    add(ofOthers, mergeGrants);
    add((consents?.results ?? []) as Row<Application, "access">[], mergeApplications);
    return {
      applications: [...byClient.values()].sort((a, b) => b.lastUsedAtMs - a.lastUsedAtMs).slice(0, limit),
      words: toScopeWords((words?.results ?? []) as { scope: string; words: string }[]),
    };
  },
  /**
   * Removes what the client has from the user besides the grants that were listed: codes and newer grants. Revokes all
   * tokens that were issued until now.
   */
  revokeRestStatements: (email: string, clientId: string, expiresSec: number): readonly D1PreparedStatement[] => [
    ...createAccessStore(db).endStatements(email, clientId),
    trust.revokeAccessStatement(email, clientId, expiresSec),
  ],
});

/** A row as D1 returns it, with one column of JSON. */
type Row<T, Json extends keyof T> = Omit<T, Json> & Record<Json, string>;

const toApplication = (row: Row<Application, "access">): Application => ({
  ...row,
  // Each element is a JSON text of its own, so DISTINCT can compare them.
  access: (JSON.parse(row.access) as string[]).map((text) => JSON.parse(text) as Application["access"][number]),
});

/** Like `mergeApplications`, for grants only. */
const mergeGrants = (known: Application | undefined, other: Application): Application => ({
  ...mergeApplications(known, other),
  lastUsedAtMs: Math.max(known?.lastUsedAtMs ?? 0, other.lastUsedAtMs),
});

const mergeApplications = (known: Application | undefined, other: Application): Application =>
  known === undefined
    ? other
    : {
        ...known,
        access: [...known.access, ...other.access],
        createdAtMs: Math.min(known.createdAtMs, other.createdAtMs),
      };
