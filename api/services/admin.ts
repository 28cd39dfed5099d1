import type { Entry, ServiceEntries } from "../model/entry.ts";
import { HALT, RIGHT, STATE } from "../model/push.ts";
import { bool, int, list, obj, oneOf, orNull, ref, str, time, uri, type Schema } from "../model/schema.ts";
import { RESOURCES, SCHEMAS, TAGS } from "./admin-resources.ts";

/** The operator service: the records of the platform and their rights. */
const RUN_ID = "5b1f6c0e9f7a8b4c2d9e3f5a6b7c8d9e";
const SUBSCRIPTION_ID = "8f14e45fceea167a5a36dedd4bea2543";
const kinds = (description: string, names: readonly string[]): Schema =>
  obj(Object.fromEntries(names.map((name) => [name, int(KINDS[name] ?? "")])), description);
const KINDS: Readonly<Record<string, string>> = {
  orphanObject: "Bytes that no row has.",
  missingBytes: "Files without bytes.",
  missingVariant: "Variants without bytes.",
  sizeDiffers: "Row and bytes differ in size.",
  etagDiffers: "Row and bytes differ in ETag.",
};
const ALL_KINDS = Object.keys(KINDS);
const REPAIRABLE = ALL_KINDS.slice(0, 3);
const runFields = {
  id: str("The comparison's id."),
  state: oneOf(["running", "done", "repairing", "repaired"], "How far it is."),
  startedAt: time("When it was started."),
  finishedAt: orNull(time("When it was done; null: not yet.")),
  checked: obj(
    { files: int("Rows of files."), variants: int("Rows of variants."), objects: int("Objects of the bucket.") },
    "How much was looked at.",
  ),
  found: kinds("How much does not fit, by kind.", ALL_KINDS),
  keptFindings: int("How many findings are kept, the first ones."),
  repairStartedAt: orNull(time("When its repair was started; null: it was not.")),
  repairedAt: orNull(time("When that was done; null: not yet.")),
  repaired: kinds("How much was repaired, by kind.", REPAIRABLE),
};
const counts = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));
const run = {
  id: RUN_ID,
  state: "done",
  startedAt: 1_763_000_000_000,
  finishedAt: 1_763_000_002_000,
  checked: { files: 1204, variants: 880, objects: 2085 },
  found: { ...counts(ALL_KINDS), orphanObject: 1 },
  keptFindings: 1,
  repairStartedAt: null,
  repairedAt: null,
  repaired: counts(REPAIRABLE),
};
/** In a query, which the route reads as digits. */
const TIME: Schema = { type: "integer", minimum: 0, maximum: 999_999_999_999_999 };
const place = (description: string): Schema =>
  orNull(obj({ size: orNull(int("In bytes.")), etag: orNull(str("Identifies the bytes.")) }, description));

const revoke = (id: string, who: string, isRegistered: boolean): Entry => ({
  id,
  tag: TAGS.control,
  about: `Void everywhere within 5 s. What is registered stays as it is: ${who} gets new tokens at once. May be repeated.`,
  answers: { 204: { text: "All until now is void." } },
  errors: isRegistered ? { 404: "" } : {},
});

const copyFields = {
  number: int("Counts from 1 on, without a gap."),
  name: str("Its key in the bucket."),
  rows: int("How many rows it has."),
  firstSeq: int("The number of its first row."),
  lastSeq: int("The number of its last row."),
  previous: str("The hash of the last line of the copy before; zeros in front of the first."),
  head: str("The hash of its own last line, as the database has it."),
  writtenAt: time("When it was written."),
};
const copy = {
  number: 2,
  name: "audit/2026/11/22-000002-5f4dcc3b5aa765d6.jsonl",
  rows: 1,
  firstSeq: 8,
  lastSeq: 8,
  previous: "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab",
  head: "5f4dcc3b5aa765d61d8327deb882cf9960f44dcb8d8ad4df6e5e9e0d8d8f8ab1",
  writtenAt: 1_763_000_000_000,
};

export const admin: ServiceEntries = {
  base: "/admin/v1",
  tags: [
    { name: TAGS.tenants, description: "Organizations and their tenants." },
    { name: TAGS.users, description: "People, what they are members of, roles, and identity providers." },
    { name: TAGS.clients, description: "Programs that get tokens." },
    { name: TAGS.services, description: "Services behind the gateway, packages of them, and who subscribes to them." },
    { name: TAGS.control, description: "Ending what was issued, and saying why something is granted or not." },
    { name: TAGS.upkeep, description: "The audit log, signing keys, and whether the media store is as its rows say." },
  ],
  parameters: {
    id: { text: "The id.", example: "demo" },
    email: { text: "The user's e-mail, in any spelling.", example: "ada@demo.example", schema: { format: "email" } },
    name: { text: "The name.", example: "editor" },
    clientId: { text: "The client's id.", example: "demo.shop" },
    provider: { text: "The identity provider's id.", example: "corporate" },
    packageId: { text: "The package's id.", example: "platform" },
    subscriptionId: { text: "The push subscription's id, as the list shows it.", example: SUBSCRIPTION_ID },
    sessionId: { text: "The session, as its tokens carry it (`sid`).", example: "a1b2c3" },
  },
  schemas: {
    ...SCHEMAS,
    AuditRow: {
      schema: obj({
        at: time("When."),
        requestId: str("By which request."),
        actor: str("Who: a client, or `user <address>`; empty where nobody is known."),
        action: str("What was done."),
        subject: str("To what."),
        outcome: oneOf(["done", "refused"], "What came of it."),
        "reason?": str("Exactly why; where there is something to say. `created`: there was none before."),
        "changes?": list(
          obj({
            field: str("The field; alone where it is a secret."),
            "from?": { description: "What it was; absent where there was nothing." },
            "to?": { description: "What it is; absent where there is nothing." },
            "added?": list({ type: "string" }, "What came to a list: 40 at most, then `…and more`."),
            "removed?": list({ type: "string" }, "What went from a list, alike."),
          }),
          "What a change changed. A change that changes nothing has no row.",
        ),
      }),
      example: {
        at: 1_763_000_000_000,
        requestId: "3f2a9c0d51b84e7f9a6c2d8e1f405b67",
        actor: "plat.operator",
        action: "put",
        subject: "clients/demo.shop",
        outcome: "done",
        changes: [
          { field: "name", from: "demo.shop", to: "demo.store" },
          { field: "scopes", added: ["plat.media_view"] },
          { field: "clientSecret" },
        ],
      },
    },
    SealKey: {
      schema: obj({
        id: str("As `SEAL_KEYS` names it."),
        use: oneOf(["seals", "opens", "missing"], "`missing`: something is sealed under it, and `SEAL_KEYS` lacks it."),
        identityProviders: int("Secrets of identity providers under it; 1000 stands for that many or more."),
        signingKeys: int("Private halves of signing keys under it."),
        pushSubscriptions: int("Credentials of push subscriptions under it."),
        mayGo: bool(
          "Nothing that lasts is sealed under it: it may be taken out of `SEAL_KEYS`, an hour after another one was put in front.",
        ),
      }),
      example: { id: "k1", use: "opens", identityProviders: 0, signingKeys: 0, pushSubscriptions: 0, mayGo: true },
    },
    AuditCopy: { schema: obj(copyFields), example: copy },
    AuditCopyLines: {
      schema: obj({ ...copyFields, lines: list({ type: "string" }, "Its lines, each with its hash at the end.") }),
      example: {
        ...copy,
        lines: [
          '{"number":2,"rows":1,"firstSeq":8,"lastSeq":8,"previous":"…","chain":"…"}',
          '{"seq":8,"at":1763000000000,"chain":"…"}',
        ],
      },
    },
    Explanation: {
      schema: obj({
        granted: bool("Whether a token would be issued."),
        reason: str("What is granted, or the first cause of a refusal."),
        checks: list(
          obj({
            check: oneOf(
              [
                "request",
                "client",
                "user",
                "grant",
                "client_tenant",
                "place",
                "client_lists_scope",
                "tenant_uses_service",
                "role_holds_scope",
                "user_authorized_scope",
              ],
              "What was looked at.",
            ),
            "scope?": str("The scope, where it is about one."),
            passed: bool("Whether it is in order."),
            detail: str("What was found, and what to change."),
          }),
          "Each thing that was looked at, in order.",
        ),
        scopes: list(
          obj({
            scope: str("A scope that was asked for."),
            granted: bool("Whether it alone would be granted."),
            reason: str("Why."),
          }),
          "Each scope as if it were asked for alone.",
        ),
        effective: list({ type: "string" }, "What the token would have; empty where there is none."),
      }),
      example: {
        granted: false,
        reason: "client demo.shop does not list plat.media_admin",
        checks: [
          { check: "client", passed: true, detail: "client demo.shop of tenant demo" },
          {
            check: "client_lists_scope",
            scope: "plat.media_admin",
            passed: false,
            detail: "client demo.shop does not list plat.media_admin",
          },
        ],
        scopes: [
          { scope: "plat.media_admin", granted: false, reason: "client demo.shop does not list plat.media_admin" },
        ],
        effective: [],
      },
    },
    OperatedSubscription: {
      schema: obj({
        id: str("Identifies it."),
        topic: str("Whose events it gets: `<owner>.<eventType>`."),
        client: str("Whose it is."),
        name: str("Its name, one of the client's on the topic."),
        endpointOrigin: uri("Where events go: scheme, host and port of the endpoint."),
        state: STATE,
        halt: HALT,
        right: RIGHT,
        made: orNull(
          obj(
            {
              tenant: str("The token's tenant."),
              requestId: str("By which request."),
              scope: orNull(str("The scope of the token that covered the topic; null: the owner needs none.")),
            },
            "The client's own token that made it; null: it is from before that was kept.",
          ),
        ),
        createdAt: time("When it was created."),
        updatedAt: time("When it was changed last."),
      }),
      example: {
        id: SUBSCRIPTION_ID,
        topic: "demo.shop.orderCreated",
        client: "acme.erp",
        name: "orders-to-erp",
        endpointOrigin: "https://erp.example",
        state: "active",
        halt: null,
        right: "scope",
        made: {
          tenant: "acme",
          requestId: "3f2a9c0d51b84e7f9a6c2d8e1f405b67",
          scope: "plat.pubsub.topic=demo.shop.*",
        },
        createdAt: 1_763_000_000_000,
        updatedAt: 1_763_000_000_000,
      },
    },
    SigningKey: {
      schema: obj({
        kid: str("The key's id, as tokens name it."),
        alg: oneOf(["ES256", "RS256"], "What it signs: access tokens, ID tokens."),
        state: oneOf(
          ["published", "signs", "verifies", "gone"],
          "`published` before its time, `verifies` after it, `gone` from `/jwks`.",
        ),
        createdAt: time("When it was made."),
        signsFrom: time("From when on it signs."),
        publishedUntil: orNull(time("Until when it is in `/jwks`; null: not known yet.")),
      }),
      example: {
        kid: "Q2mVb0pXr7sT1uWz",
        alg: "ES256",
        state: "signs",
        createdAt: 1_763_000_000_000,
        signsFrom: 1_763_000_000_000,
        publishedUntil: null,
      },
    },
    Comparison: { schema: obj(runFields), example: run },
    ComparisonReport: {
      schema: obj({
        ...runFields,
        findings: list(
          obj({
            kind: oneOf(ALL_KINDS, "What does not fit."),
            key: str("The object's key."),
            fileId: orNull(str("The file; null: no row has it.")),
            client: orNull(str("Whose it is.")),
            tenant: orNull(str("Whose it is.")),
            row: place("What the row says; null: there is none."),
            object: place("What the bucket has; null: nothing."),
            outcome: orNull(oneOf(["repaired", "obsolete"], "What its repair did; null: nothing yet.")),
          }),
          "A page of what does not fit.",
        ),
      }),
      example: {
        ...run,
        findings: [
          {
            kind: "orphanObject",
            key: "blob/69158fc0006b1f9a2c3d4e5f",
            fileId: null,
            client: null,
            tenant: null,
            row: null,
            object: { size: 482_113, etag: '"5d41402abc4b2a76b9719d911017c592"' },
            outcome: null,
          },
        ],
      },
    },
  },
  entries: {
    ...RESOURCES,
    "GET /tenants/{id}/usage": {
      id: "getTenantUsage",
      tag: TAGS.tenants,
      answers: { 200: { text: "What it stores.", json: ref("TenantUsage") } },
      errors: { 404: "" },
    },
    "POST /users/{email}/unlock": {
      id: "unlockUser",
      tag: TAGS.users,
      answers: { 204: { text: "The user may sign in again." } },
      errors: { 404: "" },
    },
    "POST /clients/{clientId}/secret": {
      id: "makeClientSecret",
      tag: TAGS.clients,
      answers: {
        201: { text: "The new secret, shown this once.", json: ref("NewClientSecret"), headers: ["Cache-Control"] },
      },
      errors: {
        404: "",
        409: "`not_confidential`: make it so by PUT, which shows the first secret. `built_in`: a client of the platform's own.",
      },
    },
    "POST /clients/{clientId}/revoke": revoke("revokeClient", "the client", true),
    "POST /users/{email}/revoke": revoke("revokeUser", "the user", true),
    "POST /tenants/{id}/revoke": revoke("revokeTenant", "the tenant", true),
    "POST /sessions/{sessionId}/revoke": revoke("revokeSession", "the session", false),
    "GET /explain": {
      id: "explain",
      tag: TAGS.control,
      about:
        "By the very rules of `/token` and `/authorize`, over records that are read anew. A client alone asks for itself; with a user, the user signs in for it; a user alone signs in by password without a client. What is unknown is an answer as well.",
      parameters: {
        client: { text: "The client's id; or `user`, or both.", example: "demo.shop" },
        tenant: { text: "The tenant that the token is asked for.", example: "demo" },
        user: { text: "The user's e-mail.", example: "ada@demo.example", schema: { format: "email" } },
        scope: {
          text: "Scopes, separated by spaces; where absent, all that is grantable.",
          example: "plat.media_admin",
        },
        grant: { text: "How the token is asked for; the first one that the client has where absent." },
      },
      answers: { 200: { text: "What would come of it, and why.", json: ref("Explanation") } },
    },
    "GET /push-subscriptions": {
      id: "listOperatedSubscriptions",
      tag: TAGS.control,
      about: "Of all clients, by id. Addresses, users and passwords of endpoints are not shown.",
      parameters: {
        client: { text: "Those of this client alone.", example: "acme.erp" },
        topic: { text: "Those of this topic alone, `<owner>.<eventType>`.", example: "demo.shop.orderCreated" },
        maker: {
          text: "`unknown`: those alone from before it was kept who made them, perhaps a person. The client's next update makes it known.",
        },
      },
      answers: {
        200: { text: "A page of subscriptions.", json: list(ref("OperatedSubscription")), headers: ["Link"] },
      },
    },
    "GET /push-subscriptions/{subscriptionId}": {
      id: "getOperatedSubscription",
      tag: TAGS.control,
      answers: { 200: { text: "The subscription.", json: ref("OperatedSubscription") } },
      errors: { 404: "" },
    },
    "DELETE /push-subscriptions/{subscriptionId}": {
      id: "removeOperatedSubscription",
      tag: TAGS.control,
      about:
        "Deliveries in flight aside, nothing is sent any more. The client can make it again while it has the right.",
      answers: { 204: { text: "Removed." } },
      errors: { 404: "" },
    },
    "GET /seal-keys": {
      id: "listSealKeys",
      tag: TAGS.upkeep,
      about:
        "The first key seals, all of them open. What is under another one is sealed anew within some minutes; links to uploads and sign-ins under way live an hour at most.",
      answers: { 200: { text: "The keys, the one that seals first.", json: list(ref("SealKey")) } },
    },
    "GET /signing-keys": {
      id: "listSigningKeys",
      tag: TAGS.upkeep,
      answers: {
        200: { text: "A page of keys, never their private parts.", json: list(ref("SigningKey")), headers: ["Link"] },
      },
    },
    "POST /signing-keys": {
      id: "rotateSigningKeys",
      tag: TAGS.upkeep,
      answers: { 201: { text: "The new keys.", json: list(ref("SigningKey")) } },
      errors: { 429: "So many keys are published that no more are made now." },
    },
    "GET /media/consistency": {
      id: "listComparisons",
      tag: TAGS.upkeep,
      answers: { 200: { text: "A page of comparisons.", json: list(ref("Comparison")), headers: ["Link"] } },
    },
    "POST /media/consistency": {
      id: "startComparison",
      tag: TAGS.upkeep,
      answers: { 202: { text: "It runs; `Location` is its report.", json: ref("Comparison"), headers: ["Location"] } },
      errors: { 409: "`repair_under_way`: compare when it is done." },
    },
    "GET /media/consistency/{id}": {
      id: "getComparison",
      tag: TAGS.upkeep,
      parameters: { id: { text: "The comparison's id.", example: RUN_ID } },
      answers: { 200: { text: "The report.", json: ref("ComparisonReport"), headers: ["Link"] } },
      errors: { 404: "" },
    },
    "POST /media/consistency/{id}/repair": {
      id: "repairComparison",
      tag: TAGS.upkeep,
      about: "Each finding is looked at once more before it is repaired.",
      parameters: { id: { text: "The comparison's id.", example: RUN_ID } },
      answers: {
        202: { text: "The repair runs; `Location` is the report.", json: ref("Comparison"), headers: ["Location"] },
      },
      errors: { 404: "", 409: "`comparison_running`, or `other_run_under_way`." },
    },
    "GET /audit": {
      id: "listAudit",
      tag: TAGS.upkeep,
      about: "Kept for 90 days, and refusals within bounds.",
      parameters: {
        requestId: { text: "Of this request alone: an error's `plat-request-id`, or the end of `error_uri`." },
        subject: { text: "Whose subject begins like this.", example: "tenants/demo" },
        actor: { text: "Of this actor alone.", example: "plat.operator" },
        action: { text: "Of this action alone.", example: "put" },
        outcome: { text: "With this outcome alone." },
        since: { text: "From this time on, in ms since 1970.", schema: TIME },
        until: { text: "Up to this time, in ms since 1970.", schema: TIME },
      },
      answers: { 200: { text: "A page of rows.", json: list(ref("AuditRow")), headers: ["Link"] } },
    },
    "GET /audit/copies": {
      id: "listAuditCopies",
      tag: TAGS.upkeep,
      about:
        "Each line ends with the SHA-256 of the hash of the line before it, a line feed, and its own text without the hash; the first line goes on from the copy before.",
      answers: { 200: { text: "A page of copies.", json: list(ref("AuditCopy")), headers: ["Link"] } },
    },
    "GET /audit/copies/{number}": {
      id: "getAuditCopy",
      tag: TAGS.upkeep,
      parameters: { number: { text: "The copy's number.", example: "2" } },
      answers: { 200: { text: "The copy and its lines.", json: ref("AuditCopyLines") } },
      errors: { 404: "There is no such copy, or it is not in the bucket any more." },
    },
  },
};
