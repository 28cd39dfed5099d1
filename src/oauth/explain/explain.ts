import type { BuiltIn } from "../../platform/built-in.ts";
import type { Names } from "../../platform/names.ts";
import { err } from "../../platform/result.ts";
import type { DirectoryStore } from "../clients/directory-store.ts";
import { createDirectory, type ClientRecord, type Directory, type Entry } from "../clients/directory.ts";
import { grantForClient, placeOfClient } from "../grants/client-credentials.ts";
import { needsConsent } from "../grants/consent.ts";
import { passwordGrantFault, type PasswordGrant } from "../grants/grant-step.ts";
import { defaultTenantFor } from "../grants/password.ts";
import { DEFAULT_TENANT, findPlace, grantForUser, type UserGrantRequest } from "../grants/user-grant.ts";
import { UNBOUND } from "../model/binding.ts";
import { admits, scopeLimits, mayActFor, parseScopes, type ScopeLimit, type ScopeRequest } from "../model/scopes.ts";
import type { UserRecord, UserStore } from "../users/user-store.ts";
import type { ExplainStore } from "./explain-store.ts";

/**
 * Why a scope is granted or not (contract 2.2), for the operator. Nothing is decided here: the functions are those that
 * `/token` and `/authorize` decide by, over records that are read anew.
 *
 *   request ─▶ client ─▶ user ─▶ grant ─▶ place (tenant, organization, none) ─▶ each named scope: client, tenant, role
 *
 * Client, user and grant end it where they fail, since what follows depends on them. The scopes are looked at one by one:
 * a request for several gets all of them or none, and an operator wants to know everything that is in the way.
 */
export interface ExplainQuestion {
  /** Undefined: a user signs in without a client, by password. */
  readonly clientId: string | undefined;
  readonly email: string | undefined;
  readonly tenant: string | undefined;
  /** Scopes, separated by spaces; undefined: everything that is grantable. */
  readonly scope: string | undefined;
  /** Undefined: the first one that the client is registered for and that fits. */
  readonly grant: ExplainGrant | undefined;
}

export type ExplainGrant = "client_credentials" | "authorization_code" | "implicit" | "password";

export interface Check {
  readonly check: "request" | "client" | "user" | "grant" | "client_tenant" | "place" | ScopeLimit["check"];
  /** The scope that is looked at, where it is one alone. */
  readonly scope?: string;
  readonly passed: boolean;
  readonly detail: string;
}

export interface Explanation {
  readonly granted: boolean;
  /** Of a refusal: the first cause, as the audit log has it, and what to change. */
  readonly reason: string;
  readonly checks: readonly Check[];
  /** Each scope that was named, as if it were asked for alone. */
  readonly scopes: readonly { readonly scope: string; readonly granted: boolean; readonly reason: string }[];
  /** What a token has, as the answer of `/token` names it; empty where none is issued. */
  readonly effective: readonly string[];
}

export interface ExplainDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly directoryStore: DirectoryStore;
  readonly users: UserStore;
  readonly store: ExplainStore;
  readonly passwordGrant: PasswordGrant;
}

const USER_GRANTS = ["authorization_code", "implicit", "password"] as const;

export async function explain(deps: ExplainDeps, question: ExplainQuestion, nowMs: number): Promise<Explanation> {
  const { names, builtIn } = deps;
  const tenantScope = question.tenant === undefined ? [] : [names.scope(`tenant=${question.tenant}`)];
  const parsed = parseScopes([...tenantScope, question.scope ?? ""].join(" "), names);
  const checks: Check[] = [];
  const refuse = (check: Check["check"], detail: string): Explanation =>
    refused([...checks, { check, passed: false, detail }], parsed.ok ? parsed.value.named : []);
  if (!parsed.ok) return refuse("request", parsed.error.reason);
  const request = parsed.value;
  const hints = createHints(deps.store);
  // Its own for each question: nothing that an isolate has kept decides here. Nobody authenticates, so any digest does.
  const directory = createDirectory(deps.directoryStore, builtIn, async () => ["of the operator's secret"]);

  let entry: Entry | undefined;
  if (question.clientId !== undefined) {
    entry = await directory.find(question.clientId, request.tenant, nowMs);
    if (entry.client === undefined)
      return refuse("client", `client ${question.clientId} is ${await deps.store.clientState(question.clientId)}`);
    checks.push({
      check: "client",
      passed: true,
      detail: `client ${entry.client.id} of tenant ${entry.client.tenant}`,
    });
  }
  const client = entry?.client;

  let user: UserRecord | undefined;
  if (question.email !== undefined) {
    user = await deps.users.find(question.email);
    if (user === undefined)
      return refuse("user", `user ${question.email} is ${await deps.store.userState(question.email)}`);
    checks.push({ check: "user", passed: true, detail: memberships(user) });
  }

  const grant = selectGrant(question, client);
  const unregistered = grantFault(grant, question.grant, client, deps.passwordGrant);
  if (unregistered !== undefined) return refuse("grant", unregistered);
  checks.push({ check: "grant", passed: true, detail: client === undefined ? grant : `client ${client.id}: ${grant}` });

  const flow = { grant, request, client, entry, user, directory };
  const acts = user === undefined ? undefined : clientTenant(flow);
  if (acts !== undefined) {
    const hint = acts.passed ? "" : await hints.client(flow);
    checks.push({ check: "client_tenant", passed: acts.passed, detail: acts.detail + hint });
  }
  const outcome = user === undefined ? forClient(deps, flow) : await forUser(deps, { ...flow, user }, nowMs);
  const { place, limits } = outcome;
  const hint = !place.hinted ? "" : user === undefined ? await hints.client(flow) : await hints.user(user, request);
  if (place.passed || place.detail !== acts?.detail)
    checks.push({ check: "place", passed: place.passed, detail: place.detail + hint });
  const scopes = [];
  for (const scope of request.named) {
    const looked = await checkScope(scope, limits, (check) => hints.scope(check, scope, flow));
    const failed = [...checks, ...looked].find((check) => !check.passed && (check.scope ?? scope) === scope);
    scopes.push({ scope, granted: failed === undefined, reason: failed?.detail ?? `${scope} is granted` });
    checks.push(...looked);
  }
  if (outcome.effective === undefined) {
    // Each scope alone would be granted, and all of them are too long for a token.
    if (checks.every(({ passed }) => passed)) checks.push({ check: "request", passed: false, detail: outcome.reason });
    const reason = checks.find(({ passed }) => !passed)?.detail ?? "";
    return { granted: false, reason, checks, scopes, effective: [] };
  }
  const { effective } = outcome;
  return { granted: true, reason: `granted: ${effective.join(" ")}`, checks, scopes, effective };
}

/** With a user too, a client may act for the tenant that is named, or not: `/authorize` asks that before anybody signs in. */
function clientTenant({ client, entry, request }: ExplainedFlow): Pick<Check, "passed" | "detail"> | undefined {
  const { tenant } = request;
  if (client === undefined || entry === undefined || tenant === undefined) return undefined;
  const allowed = entry.tenant === undefined ? err(`tenant ${tenant} is unknown`) : mayActFor(client, entry.tenant);
  return allowed.ok
    ? { passed: true, detail: `client ${client.id} may act for tenant ${tenant}` }
    : { passed: false, detail: allowed.error };
}

/** What the rules say. */
interface RuleResult {
  readonly reason: string;
  /** `hinted`: it is worth to say what would have to change. */
  readonly place: { readonly passed: boolean; readonly detail: string; readonly hinted: boolean };
  /** Without a place, what the client lists is all that can be looked at. */
  readonly limits: readonly ScopeLimit[];
  readonly effective: readonly string[] | undefined;
}

interface ExplainedFlow extends ExplainedRequest {
  readonly grant: ExplainGrant;
  readonly directory: Directory;
}

function forClient({ names, builtIn }: ExplainDeps, { client, entry, request }: ExplainedFlow): RuleResult {
  if (client === undefined || entry === undefined) throw new Error("neither a client nor a user was asked about");
  const place = placeOfClient(client, entry, request, names);
  if (!place.ok) return noPlace(place.error.reason, client, builtIn);
  const granted = grantForClient(client, entry, request, { names, builtIn });
  return {
    reason: granted.ok ? "" : granted.error.reason,
    place: { passed: true, detail: `client ${client.id} may act for tenant ${place.value.id}`, hinted: false },
    limits: scopeLimits(request, client, place.value, builtIn),
    effective: granted.ok ? granted.value.scopes : undefined,
  };
}

async function forUser(
  { names, builtIn }: ExplainDeps,
  { grant, client, user, request, directory }: ExplainedFlow & { readonly user: UserRecord },
  nowMs: number,
): Promise<RuleResult> {
  const defaultTenant =
    grant === "authorization_code" || grant === "implicit" ? DEFAULT_TENANT[grant] : defaultTenantFor(client, user);
  const asked: UserGrantRequest = {
    client,
    clientAuthenticated: true,
    user,
    binding: UNBOUND,
    scopes: request,
    defaultTenant,
    hasPages: grant !== "password",
  };
  const rules = { names, builtIn, directory };
  const place = await findPlace(rules, asked, nowMs);
  if (!place.ok) {
    const refusal = place.error;
    if (refusal.kind === "scope") return noPlace(refusal.refusal.reason, client, builtIn);
    if (refusal.kind === "no-tenant") return noPlace(refusal.reason, client, builtIn);
    const tenants = refusal.tenants.map(({ id }) => id).join(", ");
    const reason = `${user.email} belongs to several tenants that could be meant: name one of ${tenants}`;
    return noPlace(reason, client, builtIn, false);
  }
  const { rights, roles, scope } = place.value;
  const once = needsConsent(client, user, place.value) ? ", once they allow it on a page" : "";
  const granted = await grantForUser(rules, asked, nowMs);
  return {
    reason: granted.ok ? "" : granted.error.kind === "scope" ? granted.error.refusal.reason : granted.error.kind,
    place: { passed: true, detail: `${user.email} may have a token for ${scope}${once}`, hinted: false },
    limits: scopeLimits(request, client, rights, builtIn, roles),
    effective: granted.ok ? granted.value.scopes : undefined,
  };
}

function noPlace(detail: string, client: ClientRecord | undefined, builtIn: BuiltIn, hinted = true): RuleResult {
  const limits = scopeLimits({}, client, { id: "", services: [] }, builtIn);
  return {
    reason: detail,
    place: { passed: false, detail, hinted },
    limits: limits.filter(({ check }) => check === "client_lists_scope"),
    effective: undefined,
  };
}

/** Every limit of one scope, whether or not another one is in the way already. */
async function checkScope(
  scope: string,
  limits: readonly ScopeLimit[],
  hint: (check: ScopeLimit["check"]) => Promise<string>,
): Promise<readonly Check[]> {
  const looked: Check[] = [];
  for (const limit of limits) {
    const passed = admits(limit, scope);
    const detail = passed ? `${PASSED[limit.check]} ${scope}` : `${limit.reason} ${scope}${await hint(limit.check)}`;
    looked.push({ check: limit.check, scope, passed, detail });
  }
  return looked;
}

const PASSED = {
  client_lists_scope: "the client lists",
  tenant_uses_service: "a service that may be used there has",
  role_holds_scope: "a role of the user there holds",
  user_authorized_scope: "the user authorized",
} as const satisfies Record<ScopeLimit["check"], string>;

/** Nobody is asked about without a client: then a user signs in by password. */
const selectGrant = ({ email, grant }: ExplainQuestion, client: ClientRecord | undefined): ExplainGrant => {
  if (grant !== undefined) return grant;
  if (email === undefined) return "client_credentials";
  if (client === undefined) return "password";
  return USER_GRANTS.find((one) => client.grantTypes.includes(one)) ?? "authorization_code";
};

function grantFault(
  grant: ExplainGrant,
  asked: ExplainGrant | undefined,
  client: ClientRecord | undefined,
  passwordGrant: PasswordGrant,
): string | undefined {
  const off = grant === "password" ? passwordGrantFault(passwordGrant, client !== undefined) : undefined;
  if (off !== undefined || client === undefined) return off;
  if (!client.grantTypes.includes(grant)) {
    const wanted = asked === undefined && grant !== "client_credentials" ? USER_GRANTS.join(", ") : grant;
    const registered = client.grantTypes.join(", ");
    return `client ${client.id} is not registered for ${wanted}; it is for: ${registered === "" ? "none" : registered}`;
  }
  if (grant === "client_credentials" && client.secretDigests.length === 0)
    return `client ${client.id} has no secret, and ${grant} needs one`;
  return undefined;
}

const memberships = ({ email, tenants, organizations }: UserRecord): string => {
  const list = (all: readonly { readonly id: string }[]): string => all.map(({ id }) => id).join(", ") || "none";
  return `${email} is a member of tenants: ${list(tenants)}; of organizations: ${list(organizations)}`;
};

function refused(checks: readonly Check[], named: readonly string[]): Explanation {
  const reason = checks.at(-1)?.detail ?? "";
  return {
    granted: false,
    reason,
    checks,
    scopes: named.map((scope) => ({ scope, granted: false, reason })),
    effective: [],
  };
}

/** What a hint is about. */
export interface ExplainedRequest {
  readonly request: ScopeRequest;
  readonly client: ClientRecord | undefined;
  readonly entry: Entry | undefined;
  readonly user: UserRecord | undefined;
}

/** What an operator could change, as the end of the sentence that says what is in the way. */
export interface Hints {
  /** The client may not act for the tenant that is asked for. */
  client(flow: Pick<ExplainedRequest, "client" | "entry" | "request">): Promise<string>;
  /** The user may not have a token for the place that is asked for. */
  user(user: UserRecord, request: ScopeRequest): Promise<string>;
  scope(check: ScopeLimit["check"], scope: string, flow: Pick<ExplainedRequest, "user" | "request">): Promise<string>;
}

export function createHints(store: ExplainStore): Hints {
  const packages = async (service: string): Promise<string> => {
    const found = await store.packagesWith(service);
    return found.length === 0 ? "no package includes it" : `packages that include it: ${found.join(", ")}`;
  };
  return {
    async client({ client, entry, request }) {
      const lacksPackage = request.organization === undefined && entry?.tenant?.disabled === false;
      return lacksPackage && client?.service !== undefined ? `; ${await packages(client.service)}` : "";
    },
    async user({ tenants, organizations }, { tenant, organization }) {
      if (organization !== undefined) return membership(organizations);
      if (tenant === undefined) return membership(tenants);
      if (tenants.some(({ id }) => id === tenant)) return "";
      const state = await store.tenantState(tenant);
      if (state === "live") return membership(tenants);
      return state === "disabled" ? `; tenant ${tenant} is disabled` : `; there is no tenant ${tenant}`;
    },
    async scope(check, scope, { user, request }) {
      switch (check) {
        case "tenant_uses_service": {
          // Packages are a tenant's: a client of its own accord always means one.
          if (user !== undefined && request.noTenant) return "; services are used in a tenant or an organization";
          const services = await store.servicesWith(scope);
          if (services.length === 0) return "; no service has it";
          const each = services.map(async ({ name, tenant }) => {
            const has = `service ${name} of tenant ${tenant} has it`;
            return request.organization === undefined ? `${has}, ${await packages(name)}` : has;
          });
          return `; ${(await Promise.all(each)).join("; ")}`;
        }
        case "role_holds_scope": {
          const roles = await store.rolesWith(scope);
          return roles.length === 0 ? "; no role holds it" : `; roles that hold it: ${roles.join(", ")}`;
        }
        case "client_lists_scope":
        case "user_authorized_scope":
          return "";
      }
    },
  };
}

const membership = (of: readonly { readonly id: string }[]): string =>
  `; a member of: ${of.map(({ id }) => id).join(", ") || "none"}`;
