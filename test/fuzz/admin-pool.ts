import { env } from "cloudflare:workers";
import { call } from "../support/platform/call.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

/** What the operator keeps, for requests to look at, to change and to take away; no caller lives by any of it. */
export class AdminPool {
  readonly #names = {
    organization: unique("org"),
    tenant: unique("ten"),
    email: `${unique("eve")}@example.org`,
    role: unique("role"),
    service: unique("service"),
    package: unique("package"),
    provider: unique("idp"),
    client: "",
  };
  #comparison: string | undefined;
  /** The rows of each item when all were made. */
  #rows: readonly string[] = [];

  private constructor() {
    this.#names.client = `${this.#names.tenant}.${unique("app")}`;
  }

  static async make(): Promise<AdminPool> {
    const pool = new AdminPool();
    await pool.restore();
    const token = await tokenFor(OPERATOR);
    const started = await call("/admin/v1/media/consistency", { method: "POST", token });
    if (started.status === 202) pool.#comparison = (await started.json<any>()).id;
    return pool;
  }

  /** Makes again what requests changed or deleted. */
  async restore(): Promise<void> {
    const items = this.#items();
    const found = await rowsOf(items);
    const changed = items.filter((_, at) => found[at] !== this.#rows[at]);
    for (const { make } of changed) await make();
    if (changed.length > 0) this.#rows = await rowsOf(items);
  }

  /** Each comes after the items that it refers to. */
  #items(): readonly Item[] {
    const { organization, tenant, email, role, service, package: packageId, client, provider } = this.#names;
    const roles = { roles: [role] };
    const item = (make: Item["make"], ...rows: Rows[]): Item => ({ rows, make });
    const subscribed = (to: string): Item =>
      item(() => put(`tenants/${tenant}/subscriptions/${to}`, {}), ["subscription", { tenant, package: to }]);
    return [
      item(() => this.#put("organization", organization), ["organization", { id: organization }]),
      item(() => this.#put("tenant", tenant), ["tenant", { id: tenant }]),
      item(() => this.#put("user", email), ["user", { email }]),
      item(() => this.#put("role", role), ["role", { name: role }]),
      subscribed("platform"),
      item(
        () => put(`tenants/${tenant}/members/${email}`, roles),
        ["tenant_member", { tenant, email }],
        ["tenant_member_role", { tenant, email }],
      ),
      item(
        () => put(`organizations/${organization}/members/${email}`, roles),
        ["organization_member", { organization, email }],
        ["organization_member_role", { organization, email }],
      ),
      item(() => this.#put("service", service), ["service", { name: service }]),
      item(
        () => this.#put("package", packageId),
        ["package", { id: packageId }],
        ["package_service", { package: packageId }],
      ),
      subscribed(packageId),
      item(() => this.#put("client", client), ["client", { id: client }], ["client_secret", { client }]),
      item(() => this.#put("provider", provider), ["identity_provider", { id: provider }]),
      item(() => this.#link(), ["user_identity", { email, provider }]),
    ];
  }

  async #link(): Promise<void> {
    await put(`users/${this.#names.email}/identities/${this.#names.provider}`, { subject: "248289761001" });
  }

  async #put(kind: Kind, name: string): Promise<void> {
    const { organization, tenant, service } = this.#names;
    const grantTypes = ["client_credentials"];
    const place = {
      organization: ["organizations", { name: "Org" }],
      tenant: ["tenants", { organization, name: "Tenant" }],
      user: ["users", { name: "Eve" }],
      role: ["roles", { scopes: ["plat.media_view"] }],
      client: ["clients", { tenant, confidential: true, redirectUris: [], grantTypes, scopes: ["plat.media_view"] }],
      service: ["services", serviceOf(name, tenant)],
      package: ["packages", { version: "1", organization, services: [service] }],
      provider: [
        "identity-providers",
        { issuer: "https://idp.fuzz.test", clientId: "plinth", clientSecret: "a secret" },
      ],
    } as const;
    const [path, body] = place[kind];
    await put(`${path}/${name}`, body);
  }

  /** Something that a DELETE of this address may take away: nothing else needs it. */
  async victim(template: string): Promise<Record<string, string>> {
    const { tenant, organization, email, role, package: packageId } = this.#names;
    const part = template.replace("/admin/v1/", "");
    if (part === "tenants/{id}/members/{email}" || part === "organizations/{id}/members/{email}") {
      await put(part.replace("{id}", part.startsWith("t") ? tenant : organization).replace("{email}", email), {
        roles: [role],
      });
      return {};
    }
    if (part.endsWith("/invitations/{email}")) {
      // An address gets a few mails a day.
      const invited = `${unique("mallory")}@example.org`;
      const place = part.replace("{id}", part.startsWith("t") ? tenant : organization);
      await put(place.replace("{email}", invited), { roles: [] });
      return { email: invited };
    }
    if (part.includes("identities")) {
      await this.#link();
      return {};
    }
    if (part.includes("subscriptions")) {
      await put(`tenants/${tenant}/subscriptions/${packageId}`, {});
      return {};
    }
    const found = Object.entries(VICTIMS).find(([prefix]) => part.startsWith(prefix));
    if (found === undefined) return {};
    const [, [kind, parameter]] = found;
    const name = kind === "user" ? "victim@example.org" : kind === "client" ? `${tenant}.victim` : "victimofall";
    await this.#put(kind, name);
    return { [parameter]: name };
  }

  /** Values of a parameter or field at an address of the operator's service. */
  values(template: string, name: string): readonly string[] {
    const names = this.#names;
    const part = template.replace("/admin/v1/", "");
    switch (name) {
      case "id":
        if (part.startsWith("organizations")) return [names.organization];
        if (part.startsWith("tenants")) return [names.tenant];
        if (part.startsWith("packages")) return [names.package, "platform"];
        if (part.startsWith("identity")) return [names.provider];
        return this.#comparison === undefined ? [] : [this.#comparison];
      case "name":
        if (part.startsWith("clients")) return [names.client];
        return part.startsWith("roles") ? [names.role] : [names.service, "media"];
      case "email":
      case "user":
        return [names.email];
      case "clientId":
        return part.startsWith("identity") ? ["plinth"] : [names.client];
      case "client":
        return [names.client, OPERATOR.clientId];
      case "provider":
        return [names.provider];
      case "number":
        return ["1"];
      case "packageId":
        return [names.package, "platform"];
      case "organization":
        return [names.organization];
      case "tenant":
        return [names.tenant];
      case "roles":
        return [names.role];
      case "services":
        return [names.service, "media", "pubsub"];
      case "service":
        return [names.service];
      case "scope":
        return ["plat.media_view", "plat.admin"];
      case "sessionId":
        return ["session-1"];
      case "password":
        return ["a long enough password"];
      default:
        return [];
    }
  }
}

/** Rows of a table, by the values of some columns. */
type Rows = readonly [table: string, where: Readonly<Record<string, string>>];

interface Item {
  readonly rows: readonly Rows[];
  readonly make: () => Promise<unknown>;
}

/** Reads the rows of each item, as JSON. */
async function rowsOf(items: readonly Item[]): Promise<readonly string[]> {
  const statements = items.map(({ rows }) =>
    rows.map(([table, where]) =>
      env.DB.prepare(
        `SELECT * FROM ${table} WHERE ${Object.keys(where)
          .map((column) => `${column} = ?`)
          .join(" AND ")}`,
      ).bind(...Object.values(where)),
    ),
  );
  const answers = await env.DB.batch(statements.flat());
  return statements.map((own) => JSON.stringify(answers.splice(0, own.length).map(({ results }) => results)));
}

type Kind = "organization" | "tenant" | "user" | "role" | "client" | "service" | "package" | "provider";

const serviceOf = (name: string, tenant: string) => ({
  sourceUrl: "https://service.fuzz.test/v1",
  proxyPath: `/${name}/v1`,
  scopes: [`${name}.view`],
  tenant,
  access: "token",
});

const VICTIMS = {
  organizations: ["organization", "id"],
  tenants: ["tenant", "id"],
  users: ["user", "email"],
  roles: ["role", "name"],
  clients: ["client", "clientId"],
  services: ["service", "name"],
  packages: ["package", "id"],
  identity: ["provider", "id"],
} as const;
