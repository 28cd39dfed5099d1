// oxlint-disable-next-line import/no-unassigned-import -- in front of the service's code, which needs it
import "./base64.ts";
import type { Params, Resource } from "../../src/admin/resource.ts";
import { clients } from "../../src/admin/resources/clients.ts";
import { identityProviders } from "../../src/admin/resources/identity-providers.ts";
import { members } from "../../src/admin/resources/members.ts";
import { organizations } from "../../src/admin/resources/organizations.ts";
import { packages } from "../../src/admin/resources/packages.ts";
import { roles } from "../../src/admin/resources/roles.ts";
import { services } from "../../src/admin/resources/services.ts";
import { subscriptions } from "../../src/admin/resources/subscriptions.ts";
import { tenants } from "../../src/admin/resources/tenants.ts";
import { userIdentities } from "../../src/admin/resources/user-identities.ts";
import { users } from "../../src/admin/resources/users.ts";
import type { AdminDeps } from "../../src/admin/ports.ts";
import type { ProblemDetail } from "../../src/http/errors.ts";
import { jsonBody } from "../../src/http/route.ts";
import { validate, type Schema } from "../../src/http/validate.ts";
import { createBuiltIn } from "../../src/platform/built-in.ts";
import { createNames } from "../../src/platform/names.ts";
import type { KindName } from "./kinds.ts";

/**
 * The operator service's own rules, asked here: its schemas, patterns and refusals, and no copy of them. What it asks its
 * database is answered with "nothing there", so what is left for the service itself is what its rows decide.
 */
export interface Rules {
  /** Field names of the body, and of objects in it. */
  shape(kind: KindName): Shape;
  /** The id as the platform spells it, or why it is none. */
  id(kind: KindName, text: string): { readonly ok: true; readonly id: string } | { readonly ok: false; reason: string };
  /** Whether it is spelled as ids of the kind are. */
  isId(kind: KindName, text: string): boolean;
  /**
   * The body with its defaults, and everything that is wrong with it; `field` is in bean notation. Without an id, nothing is
   * said that one would decide.
   */
  body(
    kind: KindName,
    owner: string,
    id: string | undefined,
    body: unknown,
  ): Promise<{ readonly fields?: Record<string, unknown>; readonly faults: readonly Fault[] }>;
  /** Those that the platform brings itself. */
  isBuiltIn(kind: KindName, id: string): boolean;
}

export interface Fault {
  readonly field: string;
  readonly message: string;
}

/** Of an object: its fields; undefined for what is none. */
export type Shape = { readonly [field: string]: Shape | undefined };

type AnyResource = Resource<any>;

/**
 * Kinds whose writing has rules besides the schema, each with values that no rule is against. Others only write, and a
 * password would be hashed for nothing.
 */
const HARMLESS: Partial<Record<KindName, Readonly<Record<string, unknown>>>> = {
  services: {
    sourceUrl: "https://a.example",
    proxyPath: "/any/v1",
    scopes: [],
    essential: false,
    tenant: "any",
    access: "token",
    forwardAuthorization: false,
    trusted: false,
  },
  clients: {
    name: "any.name",
    tenant: "any",
    confidential: true,
    service: undefined,
    redirectUris: [],
    postLogoutRedirectUris: [],
    grantTypes: [],
    scopes: [],
    requirePkce: false,
    disabled: undefined,
    clientSecret: undefined,
  },
  identityProviders: { issuer: "https://a.example", clientId: "any", scopes: ["openid"] },
};

/** Where `any` is no id of an owner. */
const ANY_OWNER: Partial<Record<KindName, string>> = { linkedIdentities: "any@any.example" };
/** In the form that a client's id has to have if it is to be its name too. */
const HARMLESS_ID = "any.id";

/** `origin`: the platform's own, as it is asked at. */
export function createRules(platform: string, allowLoopback: boolean, origin: string): Rules {
  const names = createNames(platform);
  const builtIn = createBuiltIn(names);
  const deps = {
    db: EMPTY,
    names,
    builtIn,
    allowLoopback,
    random: { bytes: (length: number) => new Uint8Array(length) },
    outbox: {},
    voidStatement: () => EMPTY,
    voidHoldersStatement: () => EMPTY,
    topicsOf: () => EMPTY,
    filesOfClient: () => EMPTY,
    providerSecrets: { seal: async () => "", open: async () => undefined },
  } as unknown as AdminDeps;
  const resources: Readonly<Record<KindName, AnyResource>> = {
    organizations: organizations(deps),
    tenants: tenants(deps),
    services: services(deps),
    packages: packages(deps),
    subscriptions: subscriptions(deps),
    roles: roles(deps),
    users: users(deps),
    organizationMembers: members("organization", deps),
    tenantMembers: members("tenant", deps),
    clients: clients(deps),
    identityProviders: identityProviders(deps),
    linkedIdentities: userIdentities(deps),
  };
  /** The owner's id is checked where the owner is written; any that passes will do. */
  const paramsOf = ({ collection, key }: AnyResource, ownerId: string, id: string): Params => {
    const owner = /\{(\w+)\}/.exec(collection)?.[1];
    return owner === undefined ? { [key]: id } : { [owner]: ownerId, [key]: id };
  };

  /** Against the rules that stand in the code of its writing. */
  async function faultsOf(kind: KindName, owner: string, id: string | undefined, fields: unknown): Promise<Fault[]> {
    const harmless = HARMLESS[kind];
    if (harmless === undefined) return [];
    const params = paramsOf(resources[kind], owner, id ?? HARMLESS_ID);
    const faults: Fault[] = [];
    for (let tried = fields as Record<string, unknown>; ;) {
      const plan = await resources[kind].put({ params, body: tried, nowMs: 0, origin });
      if (!("problem" in plan)) return faults;
      const found = plan.details.length === 0 ? [{ field: "", message: plan.message }] : plan.details.map(toFault);
      faults.push(...found);
      // The service names the first; with that out of the way it names the next.
      const field = topOf(found[0]?.field ?? "");
      if (!Object.hasOwn(harmless, field) || tried[field] === harmless[field]) return faults;
      tried = { ...tried, [field]: harmless[field] };
    }
  }

  const readId = (kind: KindName, text: string) => {
    const resource = resources[kind];
    return validate("path", resource.params, paramsOf(resource, ANY_OWNER[kind] ?? "any", text));
  };

  return {
    shape: (kind) => shapeOf(resources[kind].body) ?? {},
    isId: (kind, text) => readId(kind, text).ok,
    id(kind, text) {
      const resource = resources[kind];
      const read = readId(kind, text);
      if (!read.ok) return { ok: false, reason: read.error.message };
      const id = read.value[resource.key] ?? text;
      const refused = resource.builtIn?.({ [resource.key]: id });
      return refused === undefined ? { ok: true, id } : { ok: false, reason: refused.message };
    },
    async body(kind, owner, id, body) {
      const resource = resources[kind];
      const read = validate<Record<string, unknown>>("body", resource.body, body);
      if (read.ok) {
        const faults = await faultsOf(kind, owner, id, read.value);
        return { fields: read.value, faults: [...faults, ...tooLarge(resource, read.value)] };
      }
      const faults = read.error.details.map(toFault);
      // With what is wrong out of the way the rules say what else is.
      const wrong = new Set(faults.map(({ field }) => topOf(field)));
      const mended = Object.entries(HARMLESS[kind] ?? {}).filter(([field]) => wrong.has(field));
      const again = validate("body", resource.body, { ...(body as object), ...Object.fromEntries(mended) });
      return { faults: again.ok ? [...faults, ...(await faultsOf(kind, owner, id, again.value))] : faults };
    },
    isBuiltIn: (kind, id) =>
      (kind === "services" && builtIn.services.some(({ name }) => name === id)) ||
      (kind === "packages" && builtIn.package.id === id),
  };
}

/** Each field may be within its limits, and all of them together more than a request takes. */
function tooLarge(resource: AnyResource, body: object): Fault[] {
  const { maxBytes } = jsonBody(resource.body);
  const isTooLarge = Buffer.byteLength(JSON.stringify(body)) > maxBytes;
  return isTooLarge ? [{ field: "", message: `this is more than one request takes, ${maxBytes} bytes as JSON.` }] : [];
}

const toFault = ({ field = "", message = "" }: ProblemDetail): Fault => ({ field, message });

/** `scopes[2]` → `scopes` */
const topOf = (field: string): string => field.split(/[.[]/)[0] ?? "";

/** A database without a row. */
const EMPTY: object = {
  prepare: () => EMPTY,
  bind: () => EMPTY,
  first: async () => null,
  all: async () => ({ results: [] }),
  batch: async () => [],
};

interface Definition {
  readonly innerType?: Schema;
  readonly in?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
}

function shapeOf(schema: Schema): Shape | undefined {
  const definition = schema._zod.def as Definition;
  const inner = definition.innerType ?? definition.in;
  if (inner !== undefined) return shapeOf(inner);
  if (definition.shape === undefined) return undefined;
  return Object.fromEntries(Object.entries(definition.shape).map(([name, field]) => [name, shapeOf(field)]));
}
