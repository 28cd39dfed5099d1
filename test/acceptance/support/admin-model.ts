import { AdminRefusal, type AdminClient } from "../../../cli/client/admin-client.ts";
import { asFetch } from "../../../cli/client/send.ts";

/**
 * The operator service as a model: what it holds, what it refuses (contract section 5), as far as `plat apply` can meet
 * it. Written from the contract, not from the command's code.
 */
export type World = Record<string, Record<string, any>>;

/** Paths as they are asked for, such as `/tenants/{id}/members/{email}`, in the model's own words. */
const PATHS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["subscriptions", /^\/tenants\/([^/]+)\/subscriptions(?:\/([^/]+))?$/],
  ["tenantMembers", /^\/tenants\/([^/]+)\/members(?:\/([^/]+))?$/],
  ["organizationMembers", /^\/organizations\/([^/]+)\/members(?:\/([^/]+))?$/],
  ["linkedIdentities", /^\/users\/([^/]+)\/identities(?:\/([^/]+))?$/],
  ["organizations", /^\/organizations(?:\/([^/]+))?$/],
  ["tenants", /^\/tenants(?:\/([^/]+))?$/],
  ["services", /^\/services(?:\/([^/]+))?$/],
  ["packages", /^\/packages(?:\/([^/]+))?$/],
  ["roles", /^\/roles(?:\/([^/]+))?$/],
  ["users", /^\/users(?:\/([^/]+))?$/],
  ["clients", /^\/clients(?:\/([^/]+))?$/],
  ["identityProviders", /^\/identity-providers(?:\/([^/]+))?$/],
];
const NESTED = ["subscriptions", "tenantMembers", "organizationMembers", "linkedIdentities"];
const ID_FIELDS: Record<string, string> = {
  services: "name",
  roles: "name",
  users: "email",
  tenantMembers: "email",
  organizationMembers: "email",
  linkedIdentities: "provider",
  clients: "clientId",
  subscriptions: "package",
};
const SETS = ["scopes", "services", "roles", "redirectUris", "postLogoutRedirectUris", "grantTypes"];

export interface Model {
  readonly client: AdminClient;
  /** By kind and key (`owner/id` below an owner). */
  readonly world: World;
  /** Client secrets and passwords, by `kind key`. */
  readonly secrets: Record<string, string>;
  /** Writes so far, `PUT /tenants/acme`. */
  readonly writes: string[];
}

/** `pause` is waited for in front of every write: who comes first among those under way. */
export function createModel(world: World, pause: () => Promise<void> = async () => undefined): Model {
  const secrets: Record<string, string> = {};
  const writes: string[] = [];
  const table = (kind: string): Record<string, any> => (world[kind] ??= {});
  for (const kind of PATHS.map(([name]) => name)) table(kind);

  const need = (kind: string, id: string): void => {
    if (table(kind)[id] === undefined) throw refusal(400, "validation_violation", `There is no ${kind} ${id}.`);
  };
  const put = (kind: string, owner: string, id: string, body: any): void => {
    const refersTo: Record<string, () => void> = {
      tenants: () => need("organizations", body.organization),
      services: () => need("tenants", body.tenant),
      packages: () => {
        need("organizations", body.organization);
        for (const name of body.services) need("services", name);
      },
      subscriptions: () => {
        need("tenants", owner);
        need("packages", id);
      },
      tenantMembers: () => need("tenants", owner),
      organizationMembers: () => need("organizations", owner),
      linkedIdentities: () => {
        need("users", owner);
        need("identityProviders", id);
      },
      clients: () => {
        need("tenants", body.tenant);
        if (body.service !== undefined) need("services", body.service);
      },
    };
    refersTo[kind]?.();
    if (kind.endsWith("Members")) {
      need("users", id);
      for (const role of body.roles) need("roles", role);
    }
    const unique = kind === "services" ? "proxyPath" : kind === "clients" ? "name" : undefined;
    for (const [other, fields] of Object.entries(table(kind)))
      if (unique !== undefined && other !== id && fields[unique] === body[unique])
        throw refusal(409, "conflict_resource", `Another one has ${unique} ${body[unique]}.`);
    const { password, clientSecret, ...shown } = body;
    const key = owner === "" ? id : `${owner}/${id}`;
    const secret = password ?? clientSecret;
    if (secret !== undefined) secrets[`${kind} ${key}`] = secret;
    if (kind === "clients" && !shown.confidential) delete secrets[`${kind} ${key}`];
    if (kind === "clients" && shown.confidential && secrets[`${kind} ${key}`] === undefined)
      throw refusal(500, "internal_service_error", "The model makes no secrets: they would be lost.");
    table(kind)[key] = { ...keptOf(kind, table(kind)[key]), ...shown };
  };
  const remove = (kind: string, owner: string, id: string): void => {
    const key = owner === "" ? id : `${owner}/${id}`;
    if (table(kind)[key] === undefined) throw refusal(404, "element_resource_non_existing", `There is no ${key}.`);
    const users = Object.entries(world).flatMap(([other, rows]) =>
      Object.entries(rows)
        .filter(([row, fields]) => uses(other, row, fields, kind, id))
        .map(([row]) => `${other} ${row}`),
    );
    if (users.length > 0) throw refusal(409, "conflict_resource", `${kind} ${key} is in use by ${users.join(", ")}.`);
    delete table(kind)[key];
    delete secrets[`${kind} ${key}`];
    for (const members of ["tenantMembers", "organizationMembers"])
      for (const row of Object.keys(table(members))) {
        const [of, who] = row.split("/");
        if ((kind === "users" && who === id) || (kind === `${members.replace("Members", "")}s` && of === id))
          delete table(members)[row];
      }
    for (const row of Object.keys(table("linkedIdentities"))) {
      const [of, by] = row.split("/");
      if ((kind === "users" && of === id) || (kind === "identityProviders" && by === id))
        delete table("linkedIdentities")[row];
    }
  };

  async function answer(url: string, { method = "GET", body, headers }: RequestInit): Promise<Response> {
    const path = new URL(url).pathname.replace("/admin/v1", "");
    const { kind, owner, id } = parse(path);
    if (method === "GET" && id === "") {
      const keys = Object.keys(table(kind)).map((key) => (NESTED.includes(kind) ? key.split("/") : ["", key]));
      const own = keys.filter(([of]) => of === owner).map(([, one = ""]) => one);
      return Response.json(own.map((one) => show(kind, owner, one)));
    }
    if (method === "GET") {
      if (find(kind, owner, id) === undefined) throw refusal(404, "element_resource_non_existing", "There is none.");
      return Response.json(show(kind, owner, id), { headers: { etag: etagOf(kind, owner, id) ?? "" } });
    }
    await pause();
    const ifMatch = new Headers(headers).get("if-match");
    const ifNoneMatch = new Headers(headers).get("if-none-match");
    const etag = etagOf(kind, owner, id);
    if ((ifMatch !== null && ifMatch !== etag) || (ifNoneMatch === "*" && etag !== undefined))
      throw refusal(412, "precondition_failed", "Nothing was changed.");
    writes.push(`${method} ${decodeURIComponent(path)}`);
    if (method === "PUT") put(kind, owner, id, JSON.parse(body as string));
    else remove(kind, owner, id);
    return method === "PUT" ? Response.json({}) : new Response(null, { status: 204 });
  }
  const find = (kind: string, owner: string, id: string): any => table(kind)[owner === "" ? id : `${owner}/${id}`];
  const show = (kind: string, owner: string, id: string): object =>
    toRow(kind, owner, id, find(kind, owner, id), secrets);
  const etagOf = (kind: string, owner: string, id: string): string | undefined =>
    find(kind, owner, id) && `"${JSON.stringify(show(kind, owner, id))}"`;
  const client: AdminClient = {
    base: "http://model",
    platform: "plat",
    opts: { baseUrl: "http://model", fetch: asFetch(answer) },
  };
  return { client, world, secrets, writes };
}

/** What a PUT leaves as it is where it does not name it (contract section 8). */
export function keptOf(kind: string, { disabled = false, quota = {}, requirePkce = false }: any = {}): object {
  if (kind === "tenants") return { disabled, quota };
  if (kind === "clients") return { disabled, requirePkce };
  return kind === "users" ? { disabled } : {};
}

function parse(path: string): { kind: string; owner: string; id: string } {
  for (const [kind, pattern] of PATHS) {
    const [, first = "", second = ""] = pattern.exec(path) ?? [];
    if (!pattern.test(path)) continue;
    const [owner, id] = NESTED.includes(kind) ? [first, second] : ["", first];
    return { kind, owner: decodeURIComponent(owner), id: decodeURIComponent(id) };
  }
  throw new Error(`the model has no path ${path}`);
}

function uses(other: string, row: string, fields: any, kind: string, id: string): boolean {
  const [of, member] = row.split("/");
  switch (kind) {
    case "organizations":
      return (other === "tenants" || other === "packages") && fields.organization === id;
    case "tenants":
      return (
        ((other === "clients" || other === "services") && fields.tenant === id) ||
        (other === "subscriptions" && of === id)
      );
    case "services":
      return (other === "clients" && fields.service === id) || (other === "packages" && fields.services.includes(id));
    case "packages":
      return other === "subscriptions" && member === id;
    case "roles":
      return other.endsWith("Members") && fields.roles.includes(id);
    default:
      return false;
  }
}

/** As GET shows it: lists in another order than they came in, fields that no body has. */
function toRow(kind: string, owner: string, id: string, fields: any, secrets: Record<string, string>): object {
  const lists = Object.entries(fields).map(([name, value]) => [
    name,
    SETS.includes(name) ? (value as string[]).toReversed() : value,
  ]);
  return {
    ...Object.fromEntries(lists),
    [ID_FIELDS[kind] ?? "id"]: id,
    ...(kind === "subscriptions" && { id: "0123", tenant: owner }),
    ...(kind === "users" && { hasPassword: secrets[`users ${id}`] !== undefined }),
    ...(kind === "identityProviders" && { clientSecret: "********" }),
    createdAt: 1,
  };
}

const refusal = (status: number, type: string, message: string): AdminRefusal =>
  new AdminRefusal(status, type, message);
