import { PLANS } from "../../src/platform/model/plans.ts";
import type { Entry, Named, Parameter } from "../model/entry.ts";
import { bool, int, list, map, obj, oneOf, ref, str, time, uri, type Schema } from "../model/schema.ts";

/** The operator's resources: list, make or replace, show and remove. */
interface ResourceWords {
  readonly path: string;
  readonly key: string;
  /** The component of one record. */
  readonly shown: string;
  readonly ids: readonly [one: string, many: string];
  readonly tag: string;
  /** What one is, for who reads or lists them. */
  readonly what: string;
  /** What a PUT does besides making or replacing it. */
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
  /** The list takes `?q=`: what of a record it finds. */
  readonly searched?: string;
  /** The list takes `?tenant=` besides. */
  readonly byTenant?: true;
  /** A component for the answer to PUT, if it shows a secret once. */
  readonly written?: string;
}

const FORWARDS =
  "It also gets the original tokens of other tenants' callers, which are valid on the whole platform; " +
  "otherwise it gets a token only for itself.";
const TRUSTED = "Its pages and cookies share the platform's origin; otherwise a sandbox and its path isolate them.";

/** No parameters are made of these headers: the typed client would take them before its options. */
const PUT_TEXT =
  "Makes it, or replaces what is there: only a new one with `If-None-Match: *`, only what you read with its ETag in " +
  "`If-Match`.";

function resource(words: ResourceWords): Readonly<Record<string, Entry>> {
  const { path, key, shown, ids, tag, what, about, parent } = words;
  const [one, many] = ids;
  const errors = (status: number, text: string | undefined): Readonly<Record<number, string>> =>
    text === undefined ? {} : { [status]: text };
  const noParent = errors(404, parent);
  return {
    [`GET ${path}`]: {
      id: `list${many}`,
      tag,
      about: `${what} The answer is one page; its \`Link\` header leads to the next.`,
      ...(words.searched === undefined
        ? {}
        : { parameters: { q: searchParameter(words.searched), ...(words.byTenant && { tenant: OF_TENANT }) } }),
      answers: {
        200: { text: "A page, ordered by name.", json: list(ref(shown)), headers: ["Link"] },
      },
      errors: noParent,
    },
    [`PUT ${path}/{${key}}`]: {
      id: `put${one}`,
      tag,
      about: [PUT_TEXT, ...(about === undefined ? [] : [about])].join(" "),
      body: { fields: words.fields, more: words.more ?? {}, example: words.example },
      answers: {
        200: { text: "Replaced.", json: ref(words.written ?? shown) },
        201: { text: "Made.", json: ref(words.written ?? shown) },
      },
      errors: { ...noParent, ...errors(409, words.conflict), 412: "" },
    },
    [`GET ${path}/{${key}}`]: {
      id: `get${one}`,
      tag,
      about: what,
      answers: {
        200: { text: "The current record.", json: ref(shown), headers: ["ETag"] },
        304: { text: "As `If-None-Match` says.", headers: ["ETag"] },
      },
      errors: { 404: "" },
    },
    [`DELETE ${path}/{${key}}`]: {
      id: `delete${one}`,
      tag,
      about: words.removal,
      answers: { 204: { text: "Removed." } },
      errors: { 404: "", ...errors(409, words.inUse), 412: "" },
    },
  };
}

const OF_TENANT: Parameter = { text: "Only those of this tenant.", example: "demo" };
const searchParameter = (text: string): Parameter => ({
  text: `Only those whose ${text} starts with this text. A search by name finds at most 1,000.`,
  example: "a",
});

export const TAGS = {
  tenants: "Tenants",
  users: "Users and roles",
  clients: "Clients",
  services: "Services and packages",
  files: "Files of clients",
  control: "Revoking and explaining",
  upkeep: "Upkeep",
} as const;

const created = time("When it was made.");
const CREATED = 1_763_000_000_000;
const BUILT_IN = "`built_in`: it belongs to the platform and cannot change.";
const IN_USE = "`in_use`: `details` names some of its users.";
const texts = (description: string): Schema => list({ type: "string" }, description);

const brand = obj(
  {
    name: str("The name in the pages' head and in mails."),
    logoUri: str("The logo there."),
    accentColor: str("The colour of buttons and links, `#rrggbb`."),
    accentColorDark: str("The same in the dark theme; empty: a lighter tone is made."),
    termsUri: str("Its terms."),
    privacyUri: str("Its privacy policy."),
  },
  "Its look on pages and in mails; each field may be empty.",
);
const brandExample = {
  name: "Acme",
  logoUri: "https://acme.example/logo.svg",
  accentColor: "#0b57d0",
  accentColorDark: "",
  termsUri: "https://acme.example/terms",
  privacyUri: "https://acme.example/privacy",
};
const NO_LOOK = Object.fromEntries(Object.keys(brandExample).map((field) => [field, ""]));
const BRAND_FIELDS = {
  brand: "Its look on pages for people and in mails. If absent, it is unchanged; `{}` removes it.",
  "brand.name": "The name in the pages' head, at most 60 characters on one line. The host stays beside it.",
  "brand.logoUri": "The logo there: https, at most 500 characters. Browsers and mail programs fetch it from there.",
  "brand.accentColor":
    "The colour of buttons and links, `#rrggbb`. Its contrast to what is around it must be 4.5:1 (WCAG AA).",
  "brand.accentColorDark": "The same in the dark theme. If empty, a lighter tone is made.",
  "brand.termsUri": "Its terms: https, at most 500 characters.",
  "brand.privacyUri": "Its privacy policy, likewise.",
};

const quota = obj(
  { "files?": int("The most files.", { minimum: 0 }), "bytes?": int("The most bytes.", { minimum: 0 }) },
  "Its quota; an absent limit means none.",
);
const usedFields = {
  requests: int("Requests with a valid token of the tenant, and those for its tokens and content."),
  tokens: int("Access tokens issued."),
  eventsPublished: int("Events of the tenant that were stored."),
  eventsRead: int("Events that its clients read."),
  eventsPushed: int("Events that endpoints of its subscriptions took."),
  receivedBytes: int("Bytes of bodies and committed files."),
  sentBytes: int("Bytes of answers and content."),
  variants: int("Variants of images that were made."),
  storedByteHours: int("Stored bytes, times the hours."),
  mostFiles: int("The most files at any full hour."),
  mostBytes: int("The most bytes at any full hour."),
};
const USED = {
  requests: 18_204,
  tokens: 410,
  eventsPublished: 5_120,
  eventsRead: 5_120,
  eventsPushed: 0,
  receivedBytes: 7_340_032,
  sentBytes: 48_234_496,
  variants: 24,
  storedByteHours: 138_848_544,
  mostFiles: 12,
  mostBytes: 5_785_356,
};
const PLAN = "Its plan, which sets its limit of requests a minute.";
const plan = str(PLAN, { enum: PLANS });
const builtInFlag = bool("It belongs to the platform itself; otherwise absent.", { enum: [true] });
const secondFactor = bool("People get tokens after two factors alone.");
const KEPT = "If absent, it is unchanged; false for a new one.";
const SECOND_FACTOR = `People get tokens after two factors alone. ${KEPT}`;
const clientFields = {
  clientId: str("The client's id."),
  name: str("Owns topics and files."),
  displayName: str("Its name on pages for people; empty: `name`."),
  logoUri: str("Its logo on these pages; may be empty."),
  brand,
  tenant: str("Its parent tenant."),
  confidential: bool("It has a secret."),
  "service?": str("The registered service whose client it is."),
  redirectUris: texts("Redirect URIs of sign-ins."),
  postLogoutRedirectUris: texts("Redirect URIs of sign-outs."),
  grantTypes: list(
    {
      type: "string",
      enum: [
        "client_credentials",
        "authorization_code",
        "refresh_token",
        "implicit",
        "password",
        "urn:ietf:params:oauth:grant-type:device_code",
        "urn:ietf:params:oauth:grant-type:token-exchange",
      ],
    },
    "Its grant types.",
  ),
  scopes: texts("Scopes that it may request; `*` at the end matches any ending."),
  requirePkce: bool("Codes need PKCE."),
  filesPerUser: bool("Each person reaches only the own files at this client."),
  thirdParty: bool("People are asked before it gets access."),
  requireSecondFactor: secondFactor,
  backchannelLogoutUri: str("Where it is told that a session ended; may be empty."),
  backchannelLogoutSessionRequired: bool("It wants the session's id in logout tokens."),
  authMethod: {
    type: "string",
    enum: ["client_secret", "client_secret_jwt", "private_key_jwt"],
    description: "How it authenticates.",
  },
  requirePushedAuthorizationRequests: bool("Its authorization requests come through `/par` alone."),
  dpopBoundAccessTokens: bool("Its access tokens are bound to keys."),
  securityProfile: { type: "string", enum: ["none", "fapi2"], description: "What it keeps to." },
  jwks: str("Its public keys, a JSON Web Key Set as text; may be empty."),
  jwksUri: str("The address of its public keys; may be empty."),
  disabled: bool("It gets no tokens."),
  createdAt: created,
};
const client = {
  clientId: "demo.shop",
  name: "demo.shop",
  displayName: "Demo Shop",
  logoUri: "https://shop.example/logo.png",
  brand: NO_LOOK,
  tenant: "demo",
  confidential: true,
  redirectUris: ["https://shop.example/signed-in"],
  postLogoutRedirectUris: ["https://shop.example/"],
  grantTypes: ["client_credentials", "authorization_code", "refresh_token"],
  scopes: ["plat.pubsub_publish", "plat.media_view"],
  requirePkce: false,
  filesPerUser: false,
  thirdParty: false,
  requireSecondFactor: false,
  backchannelLogoutUri: "",
  backchannelLogoutSessionRequired: false,
  authMethod: "client_secret",
  requirePushedAuthorizationRequests: false,
  dpopBoundAccessTokens: false,
  securityProfile: "none",
  jwks: "",
  jwksUri: "",
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
  trustEmail: false,
  button: "Corporate",
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
      brand,
      plan,
      requireSecondFactor: secondFactor,
    }),
    example: {
      id: "demo",
      organization: "demo-org",
      name: "Demo shop",
      disabled: false,
      createdAt: CREATED,
      quota: { files: 10_000 },
      brand: brandExample,
      plan: "standard",
      requireSecondFactor: false,
    },
  },
  TenantUsage: {
    schema: obj({
      tenant: str("The tenant."),
      files: int("Files that it stores."),
      bytes: int("Their bytes, without variants."),
      pending: obj({
        files: int("Files that are not committed yet. They count against the quota."),
        bytes: int("Bytes reserved for their uploads, if the tenant has a limit of bytes."),
      }),
      quota,
      "used?": obj(
        {
          month: str("The month, of UTC."),
          isComplete: bool("The month is over, and everything counted in it has arrived."),
          ...usedFields,
          days: list(obj({ day: str("A day of UTC."), ...usedFields }), "Days with anything in them."),
        },
        "What it used in the month that was asked for.",
      ),
    }),
    example: {
      tenant: "demo",
      files: 12,
      bytes: 5_785_356,
      pending: { files: 1, bytes: 0 },
      quota: { files: 10_000 },
      used: { month: "2026-11", isComplete: false, ...USED, days: [{ day: "2026-11-23", ...USED }] },
    },
  },
  User: {
    schema: obj({
      email: str("The account's address, normalised."),
      name: str("The name, for people."),
      picture: str("The address of a picture; may be empty."),
      locale: str("The language, such as `de-CH`; may be empty."),
      hasPassword: bool("Whether the user can sign in by password."),
      "emailVerified?": bool("The user used a link in a mail to the address; else absent.", { enum: [true] }),
      "secondFactorAt?": time("Since when the user shows a code of an app at every sign-in; absent: never."),
      disabled: bool("The user cannot sign in."),
      createdAt: created,
    }),
    example: {
      email: "ada@demo.example",
      name: "Ada",
      picture: "https://people.example/ada.jpg",
      locale: "en-GB",
      hasPassword: true,
      disabled: false,
      createdAt: CREATED,
    },
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
  ...Object.fromEntries(
    (["tenant", "organization"] as const).flatMap((owner) => {
      const one = owner === "tenant" ? "TenantInvitation" : "OrganizationInvitation";
      const fields = {
        [owner]: str(`The ${owner}.`),
        email: str("The invited person."),
        roles: texts("The roles that the person gets there."),
        "name?": str("The name of a new account."),
        "language?": str("The language of the mail."),
        createdAt: time("When the last mail was sent."),
        expiresAt: time("When its link ends."),
      };
      const example = {
        [owner]: owner === "tenant" ? "demo" : "demo-org",
        email: "grace@demo.example",
        roles: ["editor"],
        createdAt: CREATED,
        expiresAt: CREATED + 604_800_000,
      };
      const mailed = bool("The mail was taken. If not, send the request again.");
      return [
        [one, { schema: obj(fields), example }],
        [`Sent${one}`, { schema: obj({ ...fields, mailed }), example: { ...example, mailed: true } }],
      ];
    }),
  ),
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
    schema: obj({
      name: str("Its name."),
      scopes: texts("The scopes that it gives."),
      requireSecondFactor: secondFactor,
      createdAt: created,
    }),
    example: {
      name: "editor",
      scopes: ["plat.media_view", "plat.media_manage"],
      requireSecondFactor: false,
      createdAt: CREATED,
    },
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
      previousExpiresAt: time("When the previous secret stops working."),
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
      "sourceUrl?": uri("Its private address; absent for a built-in service."),
      proxyPath: str("Its public path at the gateway."),
      scopes: texts("Its scopes; `*` at the end matches any ending."),
      scopeDescriptions: map(str("The words."), "Words for people, by scope."),
      essential: bool("Tenants need no subscription."),
      tenant: str("The tenant that owns it."),
      access: oneOf(["token", "public"], "Whether the gateway requires a token."),
      "forwardAuthorization?": bool(`${FORWARDS} Absent where it is built in.`),
      "trusted?": bool(`${TRUSTED} Absent where it is built in.`),
      "createdAt?": created,
    }),
    example: {
      name: "catalog",
      sourceUrl: "https://catalog.internal.example/v1",
      proxyPath: "/catalog/v1",
      scopes: ["catalog.view"],
      scopeDescriptions: { "catalog.view": "see the catalog" },
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
      "organization?": str("The organization that offers it; absent for a built-in package."),
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
  ProviderTrial: {
    schema: obj({
      works: bool("No check failed."),
      checks: list(
        obj({
          check: oneOf(
            ["secret", "discovery", "keys", "client"],
            "`secret`: it opens. `discovery`: it names the issuer. `keys`: they can be used. `client`: the provider knows it with its secret.",
          ),
          result: oneOf(["passed", "failed", "unclear"], "`unclear`: the provider's answer says neither."),
          detail: str("What was found, for people."),
        }),
        "In their order; the first that fails is the last.",
      ),
    }),
    example: {
      works: true,
      checks: [
        { check: "secret", result: "passed", detail: "It can be decrypted." },
        {
          check: "discovery",
          result: "passed",
          detail: "People sign in at https://login.corporate.example/authorize",
        },
        { check: "keys", result: "passed", detail: "2 at https://login.corporate.example/jwks" },
        {
          check: "client",
          result: "passed",
          detail:
            'To a code that was never given, the token endpoint answers 400 "invalid_grant", so it knows the client.',
        },
      ],
    },
  },
  IdentityProvider: {
    schema: obj({
      id: str("What `plat_id_provider` names."),
      issuer: uri("The provider's issuer."),
      clientId: str("The platform's client there."),
      clientSecret: str("Always `********`.", { enum: ["********"] }),
      scopes: texts("Scopes requested from it."),
      tenants: texts("Tenants that sign-ins by it can reach; none: all."),
      domains: texts("E-mail domains that it may vouch for; none: all."),
      linking: oneOf(["confirm", "operator", "verified_email"], "Who links a user to an account there, once."),
      trustEmail: bool("Its addresses count as verified if it does not say."),
      button: str("Its name on the sign-in page; empty: no button."),
      createdAt: created,
    }),
    example: { ...provider, createdAt: CREATED },
  },
  LinkedIdentity: {
    schema: obj({
      email: str("The user."),
      provider: str("The identity provider's id."),
      subject: str("The account there: `sub` of its ID tokens."),
      linkedBy: oneOf(
        ["password", "operator", "verified_email"],
        "Who linked it to the user; `password`: the person, after their password or signed in at the account page.",
      ),
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

export const ENDED_LIMIT =
  "An organization's administrators end the tokens of at most 5,000 clients and members an hour; the next one is 429.";
const roles = { roles: "Names of roles; the user gets their scopes." };

const invitationsOf = (owner: string): Readonly<Record<string, Entry>> => {
  const one = owner === "tenant" ? "TenantInvitation" : "OrganizationInvitation";
  return resource({
    path: `/${owner}s/{id}/invitations`,
    key: "email",
    shown: one,
    written: `Sent${one}`,
    ids: [one, `${one}s`],
    tag: TAGS.users,
    what: `An invitation asks a person by mail to become a member of the ${owner}. It ends when it is accepted.`,
    about:
      "Sends the person a link that works once, for a week, and ends the link that was sent before. The person becomes a " +
      "member by it. The account is made if there is none; the person chooses its password. At most five mails a day go " +
      "to an address. Only on a platform that sends mail.",
    removal: "The link ends. An account that was made stays.",
    fields: {
      ...roles,
      name: "The name of a new account; default: the address.",
      language: "The language of the mail and the page; default: English, and that of the browser.",
    },
    example: { roles: ["editor"], language: "de" },
    parent: `There is no such ${owner}.`,
  });
};

export const RESOURCES: Readonly<Record<string, Entry>> = {
  ...resource({
    path: "/organizations",
    key: "id",
    shown: "Organization",
    ids: ["Organization", "Organizations"],
    tag: TAGS.tenants,
    what: "An organization is a company. It has tenants, and people who run them.",
    removal: "Its memberships are removed too.",
    fields: { name: "Its name, for people." },
    example: { name: "Demo" },
    conflict: BUILT_IN,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/tenants",
    searched: "id or name",
    key: "id",
    shown: "Tenant",
    ids: ["Tenant", "Tenants"],
    tag: TAGS.tenants,
    what: "A tenant is whose data stays apart: a shop, a customer. It belongs to an organization.",
    about: "Disabling it revokes its tokens.",
    removal: "Its memberships are removed too.",
    fields: {
      organization: "The organization that it belongs to.",
      name: "Its name, for people.",
      disabled: `Nobody gets tokens for it. ${KEPT}`,
      quota: "Its quota; an absent limit means none. If absent, it is unchanged; `{}` removes it.",
      "quota.files": "The most files.",
      "quota.bytes": "The most bytes.",
      ...BRAND_FIELDS,
      plan: PLAN,
      requireSecondFactor: SECOND_FACTOR,
    },
    example: { organization: "demo-org", name: "Demo shop", quota: { files: 10_000 } },
    conflict: BUILT_IN,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/users",
    searched: "address or name",
    key: "email",
    shown: "User",
    ids: ["User", "Users"],
    tag: TAGS.users,
    what: "A user is a person who can sign in, known by an e-mail address.",
    about: "A new password, or disabling the user, revokes all sessions and tokens.",
    removal: "Memberships, sessions and tokens are removed too.",
    fields: {
      name: "For people; default: the address.",
      picture:
        "The address of a picture: https, at most 500 characters. Applications get it with the scope `profile`. If absent, it " +
        "is unchanged; empty: none.",
      locale: "The language (BCP 47), such as `de-CH`, likewise.",
      password: "8 to 256 characters; if absent, it is unchanged.",
      disabled: `The user cannot sign in. ${KEPT}`,
    },
    example: { name: "Ada", password: "a long enough password" },
  }),
  ...resource({
    path: "/users/{email}/identities",
    key: "provider",
    shown: "LinkedIdentity",
    ids: ["LinkedIdentity", "LinkedIdentities"],
    tag: TAGS.users,
    what: "A linked identity is an account at another identity provider, by which the user signs in.",
    about:
      "The account there signs in as the user from now on. Linking another account revokes what the user " +
      "got until now.",
    removal: "What the user got until now is revoked. The next sign-in by the provider counts as the first.",
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
    what: "A member is a user who gets tokens for the tenant. Roles say with which scopes.",
    removal: `The user's tokens for the tenant are revoked. ${ENDED_LIMIT}`,
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
    what: "A member is a user who gets tokens for the organization. Roles say with which scopes.",
    removal: `The user's tokens for the organization are revoked. ${ENDED_LIMIT}`,
    fields: roles,
    example: { roles: ["editor"] },
    parent: "There is no such organization, or no such user.",
  }),
  ...Object.assign({}, ...["tenant", "organization"].map(invitationsOf)),
  ...resource({
    path: "/roles",
    key: "name",
    shown: "Role",
    ids: ["Role", "Roles"],
    tag: TAGS.users,
    what: "A role is a named list of scopes. Members of tenants and organizations have roles.",
    removal: "Only a role that no member has.",
    fields: {
      scopes: "The scopes that it gives.",
      requireSecondFactor: SECOND_FACTOR.replace("People", "Its holders"),
    },
    example: { scopes: ["plat.media_view", "plat.media_manage"] },
    inUse: IN_USE,
  }),
  ...resource({
    path: "/clients",
    searched: "id, name or display name",
    byTenant: true,
    key: "clientId",
    shown: "Client",
    written: "WrittenClient",
    ids: ["Client", "Clients"],
    tag: TAGS.clients,
    what: "A client is an application that gets tokens. It owns the topics and files that it creates.",
    about:
      "A confidential client without a secret gets one, shown only in this answer. Changing the name, " +
      `tenant or secret, or disabling it, revokes its tokens. ${ENDED_LIMIT}`,
    removal: `Its push subscriptions and tokens are removed too. Only a client without topics and files. ${ENDED_LIMIT}`,
    fields: {
      name: "Owns topics and files, `<project>.<app>`; default: the id. No other client may have it.",
      displayName: "Its name on pages for people; default: `name`.",
      logoUri: "Its logo on these pages: https, or data of a png, jpeg, gif or webp, at most 8,000 characters.",
      ...BRAND_FIELDS,
      tenant: "Its parent tenant.",
      confidential: "It has a secret.",
      service: "The registered service whose client it is.",
      redirectUris: "Redirect URIs of sign-ins: https, http on a loopback host, or a private-use scheme; at most 50.",
      postLogoutRedirectUris: "Redirect URIs of sign-outs, likewise.",
      grantTypes: "Its grant types.",
      scopes: "Scopes that it may request; `*` at the end matches any ending.",
      requirePkce: `Codes need PKCE. Always so without a secret. ${KEPT}`,
      filesPerUser:
        "Keeps people's files apart: a person reaches only the files that their own token created, and shared ones. The " +
        `client's own token reaches all. ${KEPT}`,
      thirdParty:
        "People are asked before it gets access, by tenant and scopes. It has no password grant. See the guide on sign-in. " +
        KEPT,
      requireSecondFactor: SECOND_FACTOR,
      backchannelLogoutUri:
        "Where it is told that a session of a person ended, by a logout token (OpenID Connect Back-Channel Logout). https " +
        "at a public host. Empty: it is not told. If absent, it is unchanged.",
      backchannelLogoutSessionRequired: `It wants the session's id (\`sid\`) in logout tokens. They always have it. ${KEPT}`,
      authMethod:
        "`client_secret`, or assertions that it signs (RFC 7523): `client_secret_jwt` with its secret, which is stored " +
        "encrypted, or `private_key_jwt`, for which it has no secret. If absent, it is unchanged; `client_secret` for a " +
        "new one, and for one that is not confidential any more.",
      requirePushedAuthorizationRequests: `Its authorization requests come through \`/par\` alone (RFC 9126). ${KEPT}`,
      dpopBoundAccessTokens: `Its access tokens are bound to keys that it proves (DPoP, RFC 9449). ${KEPT}`,
      securityProfile:
        "`fapi2`: the FAPI 2.0 Security Profile. It needs `private_key_jwt`; pushed requests, PKCE with S256 and bound " +
        "tokens follow. If absent, it is unchanged; `none` for a new one.",
      jwks:
        "`private_key_jwt`: its public keys, a JSON Web Key Set as text, at most 32 KiB. If absent, they stay, unless " +
        "`jwksUri` replaces them or `authMethod` changes.",
      jwksUri:
        "`private_key_jwt`, without `jwks`: the address of its public keys. They are fetched within 10 minutes. If absent, " +
        "it stays, unless `jwks` replaces it or `authMethod` changes.",
      clientSecret: "32 to 256 visible ASCII characters; if absent, the secret stays, or one is generated.",
      disabled: `It gets no tokens. ${KEPT}`,
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
    conflict:
      "`taken`: another client has the name. `in_use`: a client with topics or files keeps name and tenant. " +
      `An organization's administrators add no client beyond its 10,000th. ${BUILT_IN}`,
    inUse: `${IN_USE} ${BUILT_IN}`,
  }),
  ...resource({
    path: "/services",
    key: "name",
    shown: "Service",
    ids: ["Service", "Services"],
    tag: TAGS.services,
    what: "A service is an API with scopes. The gateway forwards requests below its `proxyPath` to it.",
    about: "The gateway forwards requests below its `proxyPath`, everywhere within 30 s.",
    removal: "Only a service that no client and no package has.",
    fields: {
      sourceUrl: "Its private address: https, a public host, no query.",
      proxyPath: "Its public path at the gateway, apart from the platform's own paths.",
      scopes: "Its scopes; `*` at the end matches any ending. Not one of the platform's.",
      scopeDescriptions:
        "Words for people, by scope: what an application may do with it. They appear on the page of consent. Each at most " +
        "200 characters on one line; together 16,000.",
      essential: "Tenants need no subscription.",
      tenant: "The tenant that owns it.",
      access: "`token`: the gateway requires a valid token. `public`: a token is optional.",
      forwardAuthorization: FORWARDS,
      trusted: TRUSTED,
    },
    more: { sourceUrl: { format: "uri" } },
    example: {
      sourceUrl: "https://catalog.internal.example/v1",
      proxyPath: "/catalog/v1",
      scopes: ["catalog.view"],
      scopeDescriptions: { "catalog.view": "see the catalog" },
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
    what: "A package holds services. A tenant that subscribes to it can use them.",
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
    what: "A subscription gives the tenant the services of a package.",
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
    what: "An identity provider is another OpenID provider by which people sign in here.",
    removal: "Nobody can sign in by it any more.",
    fields: {
      issuer: "The issuer of an OpenID provider with discovery.",
      clientId: "The platform's client there.",
      clientSecret:
        "The client secret there, kept encrypted; if absent or `********`, it stays, unless the issuer changes.",
      scopes: "Scopes requested from it, including `openid`.",
      tenants: "Tenants that sign-ins by it can reach; if absent, they stay; `[]`: all.",
      domains: "E-mail domains that it may vouch for, without subdomains; if absent, they stay.",
      linking:
        "Who links a user to an account there at the first sign-in: the user by the password here " +
        "(`confirm`), an operator beforehand (`operator`), or the provider by the verified address " +
        "(`verified_email`, which needs `domains`). If absent, it is unchanged.",
      trustEmail:
        "Its addresses count as verified if it sends no `email_verified`. Only for a provider that verifies them all, such as another Plinth of yours. If absent, it is unchanged.",
      button: "Its name on the sign-in page, `Continue with …`; empty: no button. If absent, it is unchanged.",
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
