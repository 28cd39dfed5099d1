import type { BuiltIn, ServiceRecord } from "../../platform/model/built-in.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";

export type State = "unknown" | "disabled" | "live";

/** The most names in a sentence, and the limits of one search for them. */
const MAX_NAMES = 5;
const PAGE = { rows: 500, pages: 20 } as const;

const SERVICES = `SELECT name, tenant, scopes FROM service WHERE name > ?1 ORDER BY name LIMIT ${PAGE.rows}`;
const ROLES = `SELECT name, scopes FROM role WHERE name > ?1 ORDER BY name LIMIT ${PAGE.rows}`;
const PACKAGES = `SELECT package FROM package_service WHERE service = ?1 ORDER BY package LIMIT ${MAX_NAMES}`;
const CLIENT = `
  SELECT client.disabled, tenant.disabled AS isTenantDisabled, tenant.id AS tenant
  FROM client CROSS JOIN tenant ON tenant.id = client.tenant WHERE client.id = ?1`;
const TENANT = `SELECT disabled FROM tenant WHERE id = ?1`;
const USER = `SELECT disabled FROM user WHERE email = ?1`;

interface ClientState {
  readonly disabled: number;
  readonly isTenantDisabled: number;
  readonly tenant: string;
}

interface Listed {
  readonly name: string;
  readonly scopes: string;
}

export type ExplainStore = ReturnType<typeof createExplainStore>;

/** Finds facts that tell an operator what to change so that a scope is granted. Reads the database each time. */
export function createExplainStore(db: D1Database, builtIn: BuiltIn) {
  const state = async (sql: string, key: string): Promise<State> => {
    const disabled = await db.prepare(sql).bind(key).first<number>("disabled");
    return disabled === null ? "unknown" : disabled === 1 ? "disabled" : "live";
  };
  /**
   * The first rows whose list covers the scope, among 10,000. SQL cannot match scope patterns, so this reads all lists,
   * page by page.
   */
  async function findCovering<R extends Listed>(sql: string, scope: string): Promise<readonly R[]> {
    const found: R[] = [];
    let after = "";
    for (let page = 0; page < PAGE.pages && found.length < MAX_NAMES; page++) {
      const { results } = await db.prepare(sql).bind(after).all<R>();
      found.push(...results.filter(({ scopes }) => isCovered(JSON.parse(scopes) as string[], scope)));
      after = results.at(-1)?.name ?? "";
      if (results.length < PAGE.rows) break;
    }
    return found.slice(0, MAX_NAMES);
  }
  return {
    /** A sentence about a client that gets no tokens. */
    async clientFault(id: string): Promise<string> {
      const found = await db.prepare(CLIENT).bind(id).first<ClientState>();
      if (found === null) return `client ${id} is unknown`;
      if (found.disabled === 1) return `client ${id} is disabled`;
      return found.isTenantDisabled === 1
        ? `tenant ${found.tenant} of client ${id} is disabled`
        : `client ${id} is live`;
    },
    tenantState: async (id: string): Promise<State> => (id === builtIn.tenant ? "live" : state(TENANT, id)),
    userState: async (email: string): Promise<State> => state(USER, email),
    /** Some services, built-in ones included, that have the scope or a pattern that covers it. */
    async servicesWith(scope: string): Promise<readonly Pick<ServiceRecord, "name" | "tenant">[]> {
      const own = builtIn.services.filter(({ scopes }) => isCovered(scopes, scope));
      return [...own, ...(await findCovering<Listed & { tenant: string }>(SERVICES, scope))].slice(0, MAX_NAMES);
    },
    async packagesWith(service: string): Promise<readonly string[]> {
      const own = builtIn.package.services.includes(service) ? [builtIn.package.id] : [];
      const { results } = await db.prepare(PACKAGES).bind(service).all<{ package: string }>();
      return [...own, ...results.map((row) => row.package)];
    },
    /** Some roles that have the scope or a pattern that covers it. */
    rolesWith: async (scope: string): Promise<readonly string[]> =>
      (await findCovering(ROLES, scope)).map(({ name }) => name),
  };
}

const isCovered = (patterns: readonly string[], scope: string): boolean =>
  patterns.some((pattern) => scopeMatches(pattern, scope));
