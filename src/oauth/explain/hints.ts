import type { ClientRecord, Entry } from "../clients/directory.ts";
import type { ScopeLimit, ScopeRequest } from "../model/scopes.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { ExplainStore } from "./explain-store.ts";

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
