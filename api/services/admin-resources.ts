import { PLANS } from "../../src/platform/plans.ts";
import type { Entry, Named } from "../model/entry.ts";
import { bool, int, list, obj, oneOf, ref, str, time, uri, type Schema } from "../model/schema.ts";

/** The operator's resources: list, make or replace, show and remove. */
export interface ResourceWords {
  readonly path: string;
  readonly key: string;
  /** The component of one record. */
  readonly shown: string;
  readonly ids: readonly [one: string, many: string];
  readonly tag: string;
  readonly about?: string;
  readonly removal: string;
  readonly fields: Readonly<Record<string, string>>;
  /** As in an entry's body. */
  readonly more?: Readonly<Record<string, Schema>>;
  readonly example: unknown;
  /** The reason for a 409 at PUT and at DELETE. */
  readonly conflict?: string;
  readonly inUse?: string;
  /** Set if PUT can name a missing parent; lists have one too. */
  readonly parent?: string;
  /** A component for the answer to PUT, if it shows a secret once. */
  readonly written?: string;
}

const FORWARDS =
  "It gets the whole token of callers of other tenants too, which is good at the whole platform; else one for it alone.";
const TRUSTED =
  "Its pages and cookies share the platform's origin with all others'; else they are kept apart by a sandbox and by their path.";

export function resource(words: ResourceWords): Readonly<Record<string, Entry>> {
  const { path, key, shown, ids, tag, about, parent } = words;
  const [one, many] = ids;
  const errors = (status: number, text: string | undefined): Readonly<Record<number, string>> =>
    text === undefined ? {} : { [status]: text };
  const noParent = errors(404, parent);
  return {
    [`GET ${path}`]: {
      id: `list${many}`,
      tag,
      answers: {
        200: { text: "A page of them, in the order of their names.", json: list(ref(shown)), headers: ["Link"] },
      },
      errors: noParent,
    },
    [`PUT ${path}/{${key}}`]: {
      id: `put${one}`,
      tag,
      ...(about === undefined ? {} : { about }),
      body: { fields: words.fields, more: words.more ?? {}, example: words.example },
      answers: {
        200: { text: "Replaced.", json: ref(words.written ?? shown) },
        201: { text: "Made.", json: ref(words.written ?? shown) },
      },
      errors: { ...noParent, ...errors(409, words.conflict) },
    },
    [`GET ${path}/{${key}}`]: {
      id: `get${one}`,
      tag,
      answers: { 200: { text: "As it is now.", json: ref(shown) } },
      errors: { 404: "" },
    },
    [`DELETE ${path}/{${key}}`]: {
      id: `delete${one}`,
      tag,
      about: words.removal,
      answers: { 204: { text: "Removed." } },
      errors: { 404: "", ...errors(409, words.inUse) },
    },
  };
}

export const TAGS = {
  tenants: "Tenants",
  users: "Users and roles",
  clients: "Clients",
  services: "Services and packages",
  control: "Revoking and explaining",
  upkeep: "Upkeep",
} as const;

const created = time("When it was made.");
const CREATED = 1_763_000_000_000;
const BUILT_IN = "`built_in`: the platform brings it, and it stays as it is.";
const IN_USE = "`in_use`: `details` names a few of those that use it.";
const texts = (description: string): Schema => list({ type: "string" }, description);

const quota = obj(
  { "files?": int("At most so many files.", { minimum: 0 }), "bytes?": int("At most so many bytes.", { minimum: 0 }) },
  "What it may store; what is absent is not limited.",
);
const PLAN = "How many requests it may make a minute.";
const plan = str(PLAN, { enum: PLANS });
const builtInFlag = bool("It is the platform's own; absent where it is not.", { enum: [true] });
const clientFields = {
  clientId: str("The client's id."),
  name: str("Owns topics and files."),
  tenant: str("Its parent tenant."),
  confidential: bool("It has a secret."),
  "service?": str("The registered service that it is the client of."),
  redirectUris: texts("Where sign-ins may end."),
  postLogoutRedirectUris: texts("Where sign-outs may end."),
  grantTypes: list(
    { type: "string", enum: ["client_credentials", "authorization_code", "refresh_token", "implicit", "password"] },
    "How it may get tokens.",
  ),
  scopes: texts("What it may ask for; a `*` at the end stands for any ending."),
  requirePkce: bool("Codes need PKCE."),
  disabled: bool("It gets no tokens."),
  createdAt: created,
};
const client = {
  clientId: "demo.shop",
  name: "demo.shop",
  tenant: "demo",
  confidential: true,
  redirectUris: ["https://shop.example/signed-in"],
  postLogoutRedirectUris: ["https://shop.example/"],
  grantTypes: ["client_credentials", "authorization_code", "refresh_token"],
  scopes: ["plat.pubsub_publish", "plat.media_view"],
  requirePkce: false,
  disabled: false,
  createdAt: CREATED,
};
const provider = {
  id: "corporate",
  issuer: "https://login.corporate.example",
  clientId: "plinth",
  clientSecret: "********",
  scopes: ["openid", "email"],
  tenants: [],
  domains: ["corporate.example"],
  linking: "confirm",
};

export const SCHEMAS: Readonly<Record<string, Named>> = {
  Organization: {
    schema: obj({ id: str("Its id."), name: str("Its name, for people."), createdAt: created }),
    example: { id: "demo-org", name: "Demo", createdAt: CREATED },
  },
  Tenant: {
    schema: obj({
      id: str("Its id, as scopes name it."),
      organization: str("The organization that it belongs to."),
      name: str("Its name, for people."),
      disabled: bool("Nobody gets tokens for it."),
      createdAt: created,
      quota,
      plan,
    }),
    example: {
      id: "demo",
      organization: "demo-org",
      name: "Demo shop",
      disabled: false,
      createdAt: CREATED,
      quota: { files: 10_000 },
      plan: "standard",
    },
  },
  TenantUsage: {
    schema: obj({
      tenant: str("The tenant."),
      files: int("Files that it stores."),
      bytes: int("Their bytes, without variants."),
      pending: obj({
        files: int("Files that wait for their commit. They count against the quota."),
        bytes: int("What their uploads take, where the tenant's bytes are limited."),
      }),
      quota,
    }),
    example: {
      tenant: "demo",
      files: 12,
      bytes: 5_785_356,
      pending: { files: 1, bytes: 0 },
      quota: { files: 10_000 },
    },
  },
  User: {
    schema: obj({
      email: str("The account's address, normalised."),
      name: str("The name, for people."),
      hasPassword: bool("Whether the user can sign in by password."),
      disabled: bool("The user cannot sign in."),
      createdAt: created,
    }),
    example: { email: "ada@demo.example", name: "Ada", hasPassword: true, disabled: false, createdAt: CREATED },
  },
  TenantMember: {
    schema: obj({
      tenant: str("The tenant."),
      email: str("The user."),
      roles: texts("The user's roles there."),
      createdAt: created,
    }),
    example: { tenant: "demo", email: "ada@demo.example", roles: ["editor"], createdAt: CREATED },
  },
  OrganizationMember: {
    schema: obj({
      organization: str("The organization."),
      email: str("The user."),
      roles: texts("The user's roles there."),
      createdAt: created,
    }),
    example: { organization: "demo-org", email: "ada@demo.example", roles: ["editor"], createdAt: CREATED },
  },
  Role: {
    schema: obj({ name: str("Its name."), scopes: texts("What it allows."), createdAt: created }),
    example: { name: "editor", scopes: ["plat.media_view", "plat.media_manage"], createdAt: CREATED },
  },
  Client: { schema: obj(clientFields), example: client },
  WrittenClient: {
    schema: obj({ ...clientFields, "clientSecret?": str("The generated secret; shown this once.") }),
    example: { ...client, clientSecret: "q3Qk0bV5c1S8mH2xY7uJ4tN6wR9zL0aPdEfGhIjKlMn" },
  },
  NewClientSecret: {
    schema: obj({
      clientId: str("The client."),
      clientSecret: str("The new secret; shown this once."),
      previousExpiresAt: time("Until when the secret before it works."),
    }),
    example: {
      clientId: "demo.shop",
      clientSecret: "q3Qk0bV5c1S8mH2xY7uJ4tN6wR9zL0aPdEfGhIjKlMn",
      previousExpiresAt: CREATED + 86_400_000,
    },
  },
  Service: {
    schema: obj({
      name: str("Its name."),
      "builtIn?": builtInFlag,
      "sourceUrl?": uri("Where it really is; absent where it is built in."),
      proxyPath: str("Where the gateway has it."),
      scopes: texts("Its scopes; a `*` at the end stands for any ending."),
      essential: bool("Tenants need no subscription."),
      tenant: str("The tenant that owns it."),
      access: oneOf(["token", "public"], "Whether the gateway asks for a token."),
      "forwardAuthorization?": bool(`${FORWARDS} Absent where it is built in.`),
      "trusted?": bool(`${TRUSTED} Absent where it is built in.`),
      "createdAt?": created,
    }),
    example: {
      name: "catalog",
      sourceUrl: "https://catalog.internal.example/v1",
      proxyPath: "/catalog/v1",
      scopes: ["catalog.view"],
      essential: false,
      tenant: "demo",
      access: "token",
      forwardAuthorization: false,
      trusted: false,
      createdAt: CREATED,
    },
  },
  Package: {
    schema: obj({
      id: str("Its id."),
      version: str("Its version, for people."),
      "builtIn?": builtInFlag,
      "organization?": str("Who provides it; absent where it is built in."),
      services: texts("The services that it includes."),
      "createdAt?": created,
    }),
    example: { id: "shop", version: "1", organization: "demo-org", services: ["catalog", "media"], createdAt: CREATED },
  },
  Subscription: {
    schema: obj({
      id: str("The subscription's id, as its events have it."),
      tenant: str("The tenant."),
      package: str("The package."),
      createdAt: created,
    }),
    example: { id: "0d9f8c7b6a5e4d3c2b1a09f8e7d6c5b4", tenant: "demo", package: "platform", createdAt: CREATED },
  },
  IdentityProvider: {
    schema: obj({
      id: str("What `plat_id_provider` names."),
      issuer: uri("The provider's issuer."),
      clientId: str("The platform's client there."),
      clientSecret: str("Always `********`.", { enum: ["********"] }),
      scopes: texts("What is asked for there."),
      tenants: texts("The tenants that a sign-in by it reaches; none: all of the platform."),
      domains: texts("The domains of the addresses that it vouches for; none: all."),
      linking: oneOf(["confirm", "operator", "verified_email"], "Who says, once, that an account there is a user's."),
      createdAt: created,
    }),
    example: { ...provider, createdAt: CREATED },
  },
  LinkedIdentity: {
    schema: obj({
      email: str("The user."),
      provider: str("The identity provider's id."),
      subject: str("The account there: `sub` of its ID tokens."),
      linkedBy: oneOf(["password", "operator", "verified_email"], "Who said that it is the user's."),
      linkedAt: time("Since when."),
    }),
    example: {
      email: "ada@demo.example",
      provider: "corporate",
      subject: "248289761001",
      linkedBy: "password",
      linkedAt: CREATED,
    },
  },
};

const roles = { roles: "Names of roles; what they contain is what the user may have." };

export const RESOURCES: Readonly<Record<string, Entry>> = {
  ...resource({
    path: "/organizations",
    key: "id",
    shown: "Organization",
    ids: ["Organization", "Organizations"],
    tag: TAGS.tenants,
    removal: "Its memberships go with it.",
    fields: { name: "Its name, for people." },
    example: { name: "Demo" },
    conflict: BUILT_IN,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/tenants",
    key: "id",
    shown: "Tenant",
    ids: ["Tenant", "Tenants"],
    tag: TAGS.tenants,
    about: "Disabling it voids its tokens.",
    removal: "Its memberships go with it.",
    fields: {
      organization: "The organization that it belongs to.",
      name: "Its name, for people.",
      disabled: "Nobody gets tokens for it. Left out, it stays as it is; false for a new one.",
      quota: "What it may store; what is absent in it is not limited. Left out, it stays as it is; `{}` takes it away.",
      "quota.files": "At most so many files.",
      "quota.bytes": "At most so many bytes.",
      plan: PLAN,
    },
    example: { organization: "demo-org", name: "Demo shop", quota: { files: 10_000 } },
    conflict: BUILT_IN,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/users",
    key: "email",
    shown: "User",
    ids: ["User", "Users"],
    tag: TAGS.users,
    about: "Another password, and disabling, end all that the user signed in to.",
    removal: "Memberships, sessions and tokens go with the user.",
    fields: {
      name: "For people; the address where absent.",
      password: "8 to 256 characters; left out, what is there stays.",
      disabled: "The user cannot sign in. Left out, it stays as it is; false for a new one.",
    },
    example: { name: "Ada", password: "a long enough password" },
  }),
  ...resource({
    path: "/users/{email}/identities",
    key: "provider",
    shown: "LinkedIdentity",
    ids: ["LinkedIdentity", "LinkedIdentities"],
    tag: TAGS.users,
    about:
      "The account there signs in as the user from now on. Another one than before ends what the user got until now.",
    removal: "What the user got until now ends. The next sign-in by the provider is a first one again.",
    fields: { subject: "The account there: `sub` of its ID tokens." },
    example: { subject: "248289761001" },
    parent: "There is no such user, or no such identity provider.",
    conflict: "`taken`: another user has the account.",
  }),
  ...resource({
    path: "/tenants/{id}/members",
    key: "email",
    shown: "TenantMember",
    ids: ["TenantMember", "TenantMembers"],
    tag: TAGS.users,
    removal: "The user's tokens for the tenant are void.",
    fields: roles,
    example: { roles: ["editor"] },
    parent: "There is no such tenant, or no such user.",
  }),
  ...resource({
    path: "/organizations/{id}/members",
    key: "email",
    shown: "OrganizationMember",
    ids: ["OrganizationMember", "OrganizationMembers"],
    tag: TAGS.users,
    removal: "The user's tokens are void.",
    fields: roles,
    example: { roles: ["editor"] },
    parent: "There is no such organization, or no such user.",
  }),
  ...resource({
    path: "/roles",
    key: "name",
    shown: "Role",
    ids: ["Role", "Roles"],
    tag: TAGS.users,
    removal: "Only a role that no member has.",
    fields: { scopes: "What it allows." },
    example: { scopes: ["plat.media_view", "plat.media_manage"] },
    inUse: IN_USE,
  }),
  ...resource({
    path: "/clients",
    key: "clientId",
    shown: "Client",
    written: "WrittenClient",
    ids: ["Client", "Clients"],
    tag: TAGS.clients,
    about:
      "A confidential client that has no secret gets one, in this answer alone. Another name, tenant or secret, and disabling, void its tokens.",
    removal: "Its push subscriptions and tokens go with it. Only a client without topics and files.",
    fields: {
      name: "Owns topics and files, `<project>.<app>`; the id where absent. No other client has it.",
      tenant: "Its parent tenant.",
      confidential: "It has a secret.",
      service: "The registered service that it is the client of.",
      redirectUris: "Where sign-ins may end: https, http on a loopback host, or a private-use scheme; at most 50.",
      postLogoutRedirectUris: "Where sign-outs may end, alike.",
      grantTypes: "How it may get tokens.",
      scopes: "What it may ask for; a `*` at the end stands for any ending.",
      requirePkce: "Codes need PKCE. Without a secret they always do.",
      clientSecret: "32 to 256 visible ASCII characters; left out, what is there stays, or one is generated.",
      disabled: "It gets no tokens. Left out, it stays as it is; false for a new one.",
    },
    more: {
      redirectUris: { items: { type: "string", format: "uri" } },
      postLogoutRedirectUris: { items: { type: "string", format: "uri" } },
    },
    example: {
      tenant: "demo",
      confidential: true,
      redirectUris: ["https://shop.example/signed-in"],
      postLogoutRedirectUris: ["https://shop.example/"],
      grantTypes: ["client_credentials", "authorization_code", "refresh_token"],
      scopes: ["plat.pubsub_publish", "plat.media_view"],
    },
    conflict: `\`taken\`: another client has the name. \`in_use\`: a client with topics or files keeps name and tenant. ${BUILT_IN}`,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/services",
    key: "name",
    shown: "Service",
    ids: ["Service", "Services"],
    tag: TAGS.services,
    about: "The gateway sends on to it what comes below its `proxyPath`, within 30 s of this everywhere.",
    removal: "Only a service that no client and no package has.",
    fields: {
      sourceUrl: "Where it really is: https, a public host, no query.",
      proxyPath: "Where the gateway has it; none of the platform's own addresses.",
      scopes: "Its scopes; a `*` at the end stands for any ending. None of the platform's own.",
      essential: "Tenants need no subscription.",
      tenant: "The tenant that owns it.",
      access: "`token`: the gateway asks for a valid token. `public`: an absent one is fine.",
      forwardAuthorization: FORWARDS,
      trusted: TRUSTED,
    },
    more: { sourceUrl: { format: "uri" } },
    example: {
      sourceUrl: "https://catalog.internal.example/v1",
      proxyPath: "/catalog/v1",
      scopes: ["catalog.view"],
      tenant: "demo",
      access: "token",
    },
    conflict: `\`taken\`: another service has the path, or one of another tenant has one above or below it. ${BUILT_IN}`,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/packages",
    key: "id",
    shown: "Package",
    ids: ["Package", "Packages"],
    tag: TAGS.services,
    removal: "Only a package that no tenant subscribes to.",
    fields: {
      version: "Its version, for people and events.",
      organization: "Who provides it.",
      services: "The services that it includes.",
    },
    example: { version: "1", organization: "demo-org", services: ["catalog", "media"] },
    conflict: BUILT_IN,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/tenants/{id}/subscriptions",
    key: "packageId",
    shown: "Subscription",
    ids: ["Subscription", "Subscriptions"],
    tag: TAGS.services,
    about:
      "Published to the topic `plat.authorization` / `subscriptionCreated`. Subscribing again changes nothing and keeps the id.",
    removal: "Published to the topic `plat.authorization` / `subscriptionCancelled`.",
    fields: {},
    example: {},
    parent: "There is no such tenant, or no such package.",
  }),
  ...resource({
    path: "/identity-providers",
    key: "id",
    shown: "IdentityProvider",
    ids: ["IdentityProvider", "IdentityProviders"],
    tag: TAGS.users,
    removal: "Nobody signs in by it any more.",
    fields: {
      issuer: "The issuer of an OpenID provider with discovery.",
      clientId: "The platform's client there.",
      clientSecret: "Its secret there, kept encrypted; left out, or `********`, what is there stays with its issuer.",
      scopes: "What is asked for there; `openid` among it.",
      tenants: "The tenants that a sign-in by it reaches; left out, what is there stays; `[]`: all of the platform.",
      domains: "The domains of the addresses that it vouches for, those below them not; left out, what is there stays.",
      linking:
        "Who says at the first sign-in that an account there is a user's: the user by the password here (`confirm`), an operator before, or the provider by the address that it verified, which needs `domains`. Left out, what is there stays.",
    },
    more: { issuer: { format: "uri" }, scopes: { contains: { const: "openid" } } },
    example: {
      issuer: "https://login.corporate.example",
      clientId: "plinth",
      clientSecret: "a secret of the provider's",
      scopes: ["openid", "email"],
      domains: ["corporate.example"],
    },
  }),
};
