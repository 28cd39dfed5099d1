import type { BuiltIn, ServiceRecord } from "../../platform/built-in.ts";
import { scopeMatches } from "../../platform/scope-pattern.ts";

/** What would have to be true, for a sentence that tells an operator what to change. Read when asked, never kept. */
export interface ExplainStore {
  clientState(id: string): Promise<State>;
  tenantState(id: string): Promise<State>;
  userState(email: string): Promise<State>;
  /** Services, built-in ones too, that have the scope or a pattern that covers it. */
  servicesWith(scope: string): Promise<readonly Pick<ServiceRecord, "name" | "tenant">[]>;
  packagesWith(service: string): Promise<readonly string[]>;
  /** Roles with the scope or a pattern that covers it. */
  rolesWith(scope: string): Promise<readonly string[]>;
}

export type State = "unknown" | "disabled" | "live";

/** Named in a sentence; and rows that one look goes through, by the key, before it says what it has found. */
const NAMED = 5;
const PAGE = { rows: 500, pages: 20 } as const;

const SERVICES = `SELECT name, tenant, scopes FROM service WHERE name > ?1 ORDER BY name LIMIT ${PAGE.rows}`;
const ROLES = `SELECT name, scopes FROM role WHERE name > ?1 ORDER BY name LIMIT ${PAGE.rows}`;
const PACKAGES = `SELECT package FROM package_service WHERE service = ?1 ORDER BY package LIMIT ${NAMED}`;
const CLIENT = `SELECT disabled FROM client WHERE id = ?1`;
const TENANT = `SELECT disabled FROM tenant WHERE id = ?1`;
const USER = `SELECT disabled FROM user WHERE email = ?1`;

export function createExplainStore(db: D1Database, builtIn: BuiltIn): ExplainStore {
  const state = async (sql: string, key: string): Promise<State> => {
    const row = await db.prepare(sql).bind(key).first<{ disabled: number }>();
    return row === null ? "unknown" : row.disabled === 1 ? "disabled" : "live";
  };
  /** The first rows whose list covers the scope. Patterns are no SQL, so the lists are read, a page at a time. */
  async function covering<R extends Listed>(sql: string, scope: string): Promise<readonly R[]> {
    const found: R[] = [];
    let after = "";
    for (let page = 0; page < PAGE.pages && found.length < NAMED; page++) {
      const { results } = await db.prepare(sql).bind(after).all<R>();
      found.push(...results.filter(({ scopes }) => isCovered(JSON.parse(scopes) as string[], scope)));
      after = results.at(-1)?.name ?? "";
      if (results.length < PAGE.rows) break;
    }
    return found.slice(0, NAMED);
  }
  return {
    clientState: async (id) => (id === builtIn.operatorClientId ? "live" : state(CLIENT, id)),
    tenantState: async (id) => (id === builtIn.tenant ? "live" : state(TENANT, id)),
    userState: (email) => state(USER, email),
    async servicesWith(scope) {
      const own = builtIn.services.filter(({ scopes }) => isCovered(scopes, scope));
      return [...own, ...(await covering<Listed & { tenant: string }>(SERVICES, scope))].slice(0, NAMED);
    },
    async packagesWith(service) {
      const own = builtIn.package.services.includes(service) ? [builtIn.package.id] : [];
      const { results } = await db.prepare(PACKAGES).bind(service).all<{ package: string }>();
      return [...own, ...results.map((row) => row.package)];
    },
    rolesWith: async (scope) => (await covering(ROLES, scope)).map(({ name }) => name),
  };
}

interface Listed {
  readonly name: string;
  readonly scopes: string;
}

const isCovered = (patterns: readonly string[], scope: string): boolean =>
  patterns.some((pattern) => scopeMatches(pattern, scope));
