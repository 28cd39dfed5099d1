import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import type { Names } from "../../platform/model/names.ts";
import { err } from "../../platform/model/result.ts";
import type { DirectoryStore, ClientRecord } from "../clients/directory-store.ts";
import { createDirectory, type Directory, type Entry } from "../clients/directory.ts";
import { grantForClient, placeOfClient } from "../grants/client-credentials.ts";
import { consentRule } from "../consent/consent.ts";
import { passwordGrantFault, type PasswordGrant } from "../grants/grant-step.ts";
import { defaultTenantFor } from "../grants/password.ts";
import {
  DEFAULT_TENANT,
  findPlace,
  grantForUser,
  type UserGrantRefusal,
  type UserGrantRequest,
} from "../grants/user-grant.ts";
import { UNBOUND } from "../model/binding.ts";
import { BY_PASSWORD, withCode } from "../model/methods.ts";
import {
  admits,
  scopeLimits,
  mayActFor,
  parseScopes,
  type ScopeLimit,
  type ScopeRequest,
} from "../model/granted-scopes.ts";
import type { UserRecord, UserStore } from "../users/user-store.ts";
import type { ExplainStore } from "./explain-store.ts";

/**
 * Explains to an operator why a scope is granted or not. The functions of `/token` and `/authorize` decide, with newly
 * read records.
 *
 *   request ─▶ client ─▶ user ─▶ grant ─▶ client and tenant ─▶ place: tenant, organization or none
 *           ─▶ each named scope: client, tenant, role
 *
 * A failure of request, client, user or grant ends the explanation, because the rest depends on it. Scopes are checked
 * one by one: a request gets all of its scopes or none, and the operator sees every obstacle.
 */
export interface ExplainQuestion {
  /** Undefined: a user signs in by password without a client. */
  readonly clientId: string | undefined;
  readonly email: string | undefined;
  readonly tenant: string | undefined;
  /** Scopes, separated by spaces. Undefined: all that can be granted. */
  readonly scope: string | undefined;
  /**
   * Undefined: `client_credentials` without a user, `password` without a client, else the first grant for users that
   * the client has.
   */
  readonly grant: ExplainGrant | undefined;
}

type ExplainGrant = "client_credentials" | "authorization_code" | "implicit" | "password";

interface Check {
  readonly check: "request" | "client" | "user" | "grant" | "client_tenant" | "place" | ScopeLimit["check"];
  /** The scope that the check is about, if only one. */
  readonly scope?: string;
  readonly passed: boolean;
  readonly detail: string;
}

export interface Explanation {
  readonly granted: boolean;
  /** The scopes, or the first failed check: the cause as in the audit log, and a change that would help. */
  readonly reason: string;
  readonly checks: readonly Check[];
  /** Each named scope, as if it were requested alone. */
  readonly scopes: readonly { readonly scope: string; readonly granted: boolean; readonly reason: string }[];
  /** The token's scopes, as in the response of `/token`. Empty if no token is issued. */
  readonly effective: readonly string[];
}

export interface ExplainDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly directoryStore: DirectoryStore;
  readonly users: UserStore;
  readonly store: ExplainStore;
  readonly passwordGrant: PasswordGrant;
  readonly isolate: Isolate;
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
  // A new directory for each question has no cached records. Nobody authenticates here, so the digest is arbitrary.
  const operatorDigests = async () => ["of the operator's secret"];
  const { directoryStore: store, isolate } = deps;
  const directory = createDirectory({ store, builtIn, operatorDigests, isolate });

  let entry: Entry | undefined;
  if (question.clientId !== undefined) {
    entry = await directory.find(question.clientId, request.tenant, { nowMs });
    if (entry.client === undefined) return refuse("client", await deps.store.clientFault(question.clientId));
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
    // Each scope alone would be granted, but all of them are too long for a token.
    if (checks.every(({ passed }) => passed)) checks.push({ check: "request", passed: false, detail: outcome.reason });
    const reason = checks.find(({ passed }) => !passed)?.detail ?? "";
    return { granted: false, reason, checks, scopes, effective: [] };
  }
  const { effective } = outcome;
  return { granted: true, reason: `granted: ${effective.join(" ")}`, checks, scopes, effective };
}

/**
 * Checks that the client may act for the named tenant, also for a user. `/authorize` does that before the sign-in.
 */
function clientTenant({ client, entry, request }: ExplainedFlow): Pick<Check, "passed" | "detail"> | undefined {
  const { tenant } = request;
  if (client === undefined || entry === undefined || tenant === undefined) return undefined;
  const allowed = entry.tenant === undefined ? err(`tenant ${tenant} is unknown`) : mayActFor(client, entry.tenant);
  return allowed.ok
    ? { passed: true, detail: `client ${client.id} may act for tenant ${tenant}` }
    : { passed: false, detail: allowed.error };
}

interface RuleResult {
  readonly reason: string;
  /** `hinted`: the detail needs a hint about a change that would help. */
  readonly place: { readonly passed: boolean; readonly detail: string; readonly hinted: boolean };
  /** Without a place, only the client's list can be checked. */
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
  const grantRequest: UserGrantRequest = {
    client,
    clientAuthenticated: true,
    user,
    binding: UNBOUND,
    scopes: request,
    defaultTenant,
    // A page asks for the second factor if one is needed, so the person is taken to have shown it.
    methods: grant === "password" ? BY_PASSWORD : withCode(BY_PASSWORD),
    asksTwoFactors: false,
    hasPages: grant !== "password",
  };
  const rules = { names, builtIn, directory };
  const place = await findPlace(rules, grantRequest, nowMs);
  if (!place.ok) {
    const refusal = place.error;
    if (refusal.kind === "scope") return noPlace(refusal.refusal.reason, client, builtIn);
    if (refusal.kind === "no-tenant") return noPlace(refusal.reason, client, builtIn);
    const tenants = refusal.tenants.map(({ id }) => id).join(", ");
    const reason = `${user.email} belongs to several tenants that could be meant: name one of ${tenants}`;
    return noPlace(reason, client, builtIn, false);
  }
  const { rights, roles, scope } = place.value;
  const isAsked = consentRule(client, user, place.value) !== "never";
  const once = isAsked ? ", once they allow it on a page" : "";
  const granted = await grantForUser(rules, grantRequest, nowMs);
  const lacksFactor = !granted.ok && granted.error.kind === "second-factor";
  const reason = granted.ok ? "" : reasonOf(granted.error);
  const detail = lacksFactor ? reason : `${user.email} may have a token for ${scope}${once}`;
  return {
    reason,
    place: { passed: !lacksFactor, detail, hinted: false },
    limits: scopeLimits(request, client, rights, builtIn, roles),
    effective: granted.ok ? granted.value.scopes : undefined,
  };
}

function reasonOf(refusal: UserGrantRefusal): string {
  if (refusal.kind === "scope") return refusal.refusal.reason;
  return refusal.kind === "second-factor" ? `${refusal.reason}, which this grant cannot ask for` : refusal.kind;
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

/** Checks every limit of one scope, even if another one fails already. */
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

/** The grant that the question means. The route refuses a question without client and user. */
const selectGrant = ({ email, grant }: ExplainQuestion, client: ClientRecord | undefined): ExplainGrant => {
  if (grant !== undefined) return grant;
  if (email === undefined) return "client_credentials";
  if (client === undefined) return "password";
  return USER_GRANTS.find((one) => client.grantTypes.includes(one)) ?? "authorization_code";
};

function grantFault(
  grant: ExplainGrant,
  grantRequest: ExplainGrant | undefined,
  client: ClientRecord | undefined,
  passwordGrant: PasswordGrant,
): string | undefined {
  const off = grant === "password" ? passwordGrantFault(passwordGrant, client !== undefined) : undefined;
  if (off !== undefined || client === undefined) return off;
  if (!client.grantTypes.includes(grant)) {
    const wanted = grantRequest === undefined && grant !== "client_credentials" ? USER_GRANTS.join(", ") : grant;
    const registered = client.grantTypes.join(", ");
    return `client ${client.id} is not registered for ${wanted}; it is for: ${registered === "" ? "none" : registered}`;
  }
  if (grant === "client_credentials" && client.authMethod !== "private_key_jwt" && client.secretDigests.length === 0)
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

/** The part of a question that hints need. */
interface ExplainedRequest {
  readonly request: ScopeRequest;
  readonly client: ClientRecord | undefined;
  readonly entry: Entry | undefined;
  readonly user: UserRecord | undefined;
}

/** Hints tell an operator what to change. Each is the end of a sentence that names the obstacle. */
function createHints(store: ExplainStore) {
  const packages = async (service: string): Promise<string> => {
    const found = await store.packagesWith(service);
    return found.length === 0 ? "no package includes it" : `packages that include it: ${found.join(", ")}`;
  };
  return {
    /** The client may not act for the requested tenant. */
    async client({ client, entry, request }: Pick<ExplainedRequest, "client" | "entry" | "request">): Promise<string> {
      const lacksPackage = request.organization === undefined && entry?.tenant?.disabled === false;
      return lacksPackage && client?.service !== undefined ? `; ${await packages(client.service)}` : "";
    },
    /** The user may not have a token for the requested tenant or organization. */
    async user({ tenants, organizations }: UserRecord, { tenant, organization }: ScopeRequest): Promise<string> {
      if (organization !== undefined) return membership(organizations);
      if (tenant === undefined) return membership(tenants);
      if (tenants.some(({ id }) => id === tenant)) return "";
      const state = await store.tenantState(tenant);
      if (state === "live") return membership(tenants);
      return state === "disabled" ? `; tenant ${tenant} is disabled` : `; there is no tenant ${tenant}`;
    },
    async scope(
      check: ScopeLimit["check"],
      scope: string,
      { user, request }: Pick<ExplainedRequest, "user" | "request">,
    ): Promise<string> {
      switch (check) {
        case "tenant_uses_service": {
          // Without a user, `no_tenant` means the client's parent tenant. Organizations subscribe to no packages.
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
