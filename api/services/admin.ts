import type { Entry, ServiceEntries } from "../model/entry.ts";
import { HALT, RIGHT, STATE } from "../model/push.ts";
import { bool, int, list, obj, oneOf, orNull, ref, str, time, uri, type Schema } from "../model/schema.ts";
import { BACKUP_ENTRIES, BACKUP_SCHEMAS } from "./admin-backups.ts";
import { RESTORE_ENTRIES, RESTORE_SCHEMAS } from "./admin-restore.ts";
import { METRICS_ENTRIES, METRICS_SCHEMAS } from "./admin-metrics.ts";
import { ENDED_LIMIT, RESOURCES, SCHEMAS, TAGS } from "./admin-resources.ts";
import { FILE_ENTRIES, FILE_PARAMETERS, FILE_SCHEMAS } from "./admin-files.ts";
import { TOPIC_ENTRIES, TOPIC_SCHEMAS } from "./admin-topics.ts";

/** The operator service: the records of the platform and their rights. */
const RUN_ID = "5b1f6c0e9f7a8b4c2d9e3f5a6b7c8d9e";
const SUBSCRIPTION_ID = "8f14e45fceea167a5a36dedd4bea2543";
const kinds = (description: string, names: readonly string[]): Schema =>
  obj(Object.fromEntries(names.map((name) => [name, int(KINDS[name] ?? "")])), description);
const KINDS: Readonly<Record<string, string>> = {
  orphanObject: "Bytes without a row.",
  missingBytes: "Files without bytes.",
  missingVariant: "Variants without bytes.",
  sizeDiffers: "Row and bytes have different sizes.",
  etagDiffers: "Row and bytes have different ETags.",
};
const ALL_KINDS = Object.keys(KINDS);
const REPAIRABLE = ALL_KINDS.slice(0, 3);
const runFields = {
  id: str("The comparison's id."),
  state: oneOf(["running", "done", "repairing", "repaired"], "Its progress."),
  startedAt: time("When it was started."),
  finishedAt: orNull(time("When it ended; null: not yet.")),
  checked: obj(
    { files: int("Rows of files."), variants: int("Rows of variants."), objects: int("Objects of the bucket.") },
    "Compared objects and rows.",
  ),
  found: kinds("Differences by kind.", ALL_KINDS),
  keptFindings: int("Number of stored findings; only the first ones are stored."),
  repairStartedAt: orNull(time("When its repair was started; null: never.")),
  repairedAt: orNull(time("When the repair ended; null: not yet.")),
  repaired: kinds("Repaired findings by kind.", REPAIRABLE),
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

const revoke = (id: string, after: string, isRegistered: boolean): Entry => ({
  id,
  tag: TAGS.control,
  about: `Void everywhere within 5 s. ${after} May be repeated.`,
  answers: { 204: { text: "Everything issued until now is revoked." } },
  errors: isRegistered ? { 404: "" } : {},
});

const copyFields = {
  number: int("Counts from 1 on, without a gap."),
  name: str("Its key in the bucket."),
  rows: int("Its number of rows."),
  firstSeq: int("The number of its first row."),
  lastSeq: int("The number of its last row."),
  previous: str("The hash of the last line of the previous copy; zeros for the first."),
  head: str("The hash of its own last line, from the database."),
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
    { name: TAGS.users, description: "People, their memberships, roles, and identity providers." },
    { name: TAGS.clients, description: "Programs that get tokens." },
    { name: TAGS.files, description: "What clients store: the operator does what the client could do." },
    { name: TAGS.services, description: "Services behind the gateway, packages of them, and subscriptions." },
    { name: TAGS.control, description: "Revoking what was issued, and explaining why something is granted or not." },
    { name: TAGS.upkeep, description: "The audit log, signing keys, and the consistency of the media store." },
  ],
  parameters: {
    ...FILE_PARAMETERS,
    id: { text: "The id.", example: "demo" },
    email: { text: "The user's e-mail, in any spelling.", example: "ada@demo.example", schema: { format: "email" } },
    name: { text: "The name.", example: "editor" },
    clientId: { text: "The client's id.", example: "demo.shop" },
    provider: { text: "The identity provider's id.", example: "corporate" },
    passkey: { text: "The passkey's id, as the list shows it.", example: "q1YbRfTz" },
    packageId: { text: "The package's id.", example: "platform" },
    topicOwnerClient: { text: "The name of the client that owns the topic, `<project>.<app>`.", example: "demo.shop" },
    eventType: { text: "The topic's event type.", example: "orderCreated" },
    consumerId: { text: "The consumer's id, as the topic shows it.", example: SUBSCRIPTION_ID },
    eventId: { text: "The event's id.", example: "2i9y2sgxk8v5e3a1" },
    subscriptionId: { text: "The push subscription's id, as the list shows it.", example: SUBSCRIPTION_ID },
    sessionId: { text: "The session id from its tokens (`sid`).", example: "a1b2c3" },
  },
  schemas: {
    ...SCHEMAS,
    ...METRICS_SCHEMAS,
    ...TOPIC_SCHEMAS,
    ...FILE_SCHEMAS,
    ...BACKUP_SCHEMAS,
    ...RESTORE_SCHEMAS,
    AuditRow: {
      schema: obj({
        at: time("When."),
        requestId: str("By which request."),
        actor: str("The actor: a client, or `user <address>`; empty if unknown."),
        action: str("What was done."),
        subject: str("To what."),
        outcome: oneOf(["done", "refused"], "The outcome."),
        "reason?": str("The exact reason, if there is one. `created`: the record is new."),
        "changes?": list(
          obj({
            field: str("The field; the only member for a secret."),
            "from?": { description: "The old value; absent if there was none." },
            "to?": { description: "The new value; absent if there is none." },
            "added?": list({ type: "string" }, "Elements added to a list: at most 40, then `…and more`."),
            "removed?": list({ type: "string" }, "Elements removed from a list, likewise."),
          }),
          "The changes. An update without a change has no row.",
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
    UserSession: {
      schema: obj({
        sessionId: str("The session's id, `sid` in its tokens."),
        provider: str("`default_idp` for the password here, else the identity provider."),
        browser: str("The browser, as it says itself; empty: unknown."),
        system: str("Its operating system; empty: unknown."),
        country: str("The country of the sign-in, two letters; empty: unknown."),
        city: str("The city of the sign-in; empty: unknown."),
        signedInAt: time("When the person signed in."),
        lastUsedAt: time("The last use, to the hour."),
      }),
      example: {
        sessionId: "9f86d081884c7d659a2feaa0c55ad015",
        provider: "default_idp",
        browser: "Firefox",
        system: "Windows",
        country: "DE",
        city: "Berlin",
        signedInAt: 1_763_000_000_000,
        lastUsedAt: 1_763_003_600_000,
      },
    },
    Passkey: {
      schema: obj({
        id: str("The credential's id."),
        name: str("As the person called it."),
        backedUp: bool("It is copied to other devices of the person."),
        createdAt: time("When it was added."),
        lastUsedAt: orNull(time("The last sign-in by it.")),
      }),
      example: {
        id: "q1Yb…",
        name: "Chrome, Windows",
        backedUp: true,
        createdAt: 1_763_000_000_000,
        lastUsedAt: null,
      },
    },
    TenantObject: {
      schema: obj({
        number: int("The number of its shard."),
        tenant: str("The tenant whose files lie there, or lay there before it moved."),
        near: orNull(str("The location hint of Cloudflare with which it was made; null: none.")),
        files: int("Committed files, as of its last sweep."),
        bytes: int("Their bytes in the bucket."),
        databaseBytes: int("The size of its database, which holds 10 GB."),
        reportedAt: orNull(time("When a sweep last reported; null: never.")),
      }),
      example: {
        number: 241,
        tenant: "acmeshop",
        near: "weur",
        files: 1_204,
        bytes: 862_113_040,
        databaseBytes: 2_413_502,
        reportedAt: 1_763_000_000_000,
      },
    },
    TenantObjectSums: {
      schema: obj({
        objects: int("Objects of tenants, those of removed tenants too."),
        files: int("Committed files in them."),
        bytes: int("Their bytes in the bucket."),
        databaseBytes: int("The size of their databases."),
      }),
      example: { objects: 310, files: 120_400, bytes: 86_211_304_000, databaseBytes: 741_350_200 },
    },
    TenantMove: {
      schema: obj({
        tenant: str("The tenant."),
        from: int("The shard that it leaves."),
        to: int("The shard that it comes to; from 240 on, an object of the tenant's own."),
        state: oneOf(
          ["copying", "switching", "opening", "cleaning", "done"],
          "`cleaning`: it works in the new shard, and old rows are deleted ten minutes later.",
        ),
        files: int("The number of files copied so far."),
        begunAt: time("When it began."),
        doneAt: orNull(time("When the last old row was deleted.")),
      }),
      example: {
        tenant: "acmeshop",
        from: 0,
        to: 2,
        state: "copying",
        files: 40_200,
        begunAt: 1_763_000_000_000,
        doneAt: null,
      },
    },
    Shard: {
      schema: obj({
        shard: int("Its number; 0 is the directory."),
        tenants: int("Tenants whose files lie there."),
        files: orNull(int("Committed files; null: it does not answer.")),
        storedBytes: orNull(int("Their bytes in the bucket; null: it does not answer.")),
        pushSubscriptions: orNull(int("Push subscriptions of the topics that lie there; null: it does not answer.")),
        databaseBytes: int("The size of the database, which holds 10 GB."),
        measuredAt: orNull(time("When that was measured; null: never.")),
        answerMs: orNull(int("How long its answer took; null: it does not answer.")),
        roundTrips: orNull(int("Round trips of the last hour; null: the metrics do not answer.")),
        isNext: bool("The next new tenant gets it."),
      }),
      example: {
        shard: 1,
        tenants: 210,
        files: 1_204_311,
        storedBytes: 862_113_040_112,
        pushSubscriptions: 5_120,
        databaseBytes: 2_413_502_464,
        measuredAt: 1_763_000_000_000,
        answerMs: 14,
        roundTrips: 48_210,
        isNext: false,
      },
    },
    UnregisteredClient: {
      schema: obj({
        clientId: str("Its id: an address, or what its registration gave."),
        kind: oneOf(["document", "registered"], "Described by a document, or registered by itself."),
        name: str("Its name, by its own account; may be empty."),
        redirectUris: list({ type: "string" }, "Where people return to."),
        people: int("People whose refresh tokens it holds; of the first 1,000 grants."),
        readAt: time("When these data were read."),
        usedAt: time("When a person last allowed it, or it registered itself."),
      }),
      example: {
        clientId: "https://agent.example/client.json",
        kind: "document",
        name: "Helper",
        redirectUris: ["https://agent.example/callback"],
        people: 2,
        readAt: 1_763_000_000_000,
        usedAt: 1_763_000_000_000,
      },
    },
    LogoutDelivery: {
      schema: obj({
        id: str("The `jti` of the logout token."),
        user: str("The person's `sub` in the client's tokens."),
        sessionId: str("The `sid` there."),
        state: oneOf(["pending", "dead"], "Not there yet, or never."),
        createdAt: time("When the session ended."),
        attempts: int("Attempts until now."),
        lastAttempt: orNull(
          obj(
            {
              at: time("When."),
              status: orNull(int("The status of the answer; null: none.")),
              error: oneOf(["status", "timeout", "unreachable", "redirect", "refused"], "What failed, as for push."),
            },
            "The last attempt that failed.",
          ),
        ),
        nextAttemptAt: orNull(time("The next attempt; null: none.")),
      }),
      example: {
        id: "7d0f6a2b9c1e4f538a6b7c8d9e0f1a2b",
        user: "ada@demo.example",
        sessionId: "a1b2c3",
        state: "pending",
        createdAt: 1_763_000_000_000,
        attempts: 2,
        lastAttempt: { at: 1_763_000_005_400, status: 503, error: "status" },
        nextAttemptAt: 1_763_000_040_000,
      },
    },
    SealKey: {
      schema: obj({
        id: str("Its name in `SEAL_KEYS`."),
        use: oneOf(
          ["seals", "opens", "missing"],
          "`missing`: something is encrypted with it, but `SEAL_KEYS` lacks it.",
        ),
        identityProviders: int("Secrets of identity providers encrypted with it; 1000 means that many or more."),
        signingKeys: int("Private halves of signing keys encrypted with it."),
        secondFactors: int("Secrets of people's authenticator apps encrypted with it."),
        clientSecrets: int("Secrets of clients with `client_secret_jwt` encrypted with it."),
        pushSubscriptions: int("Credentials of push subscriptions encrypted with it."),
        mayGo: bool(
          "Nothing lasting is encrypted with it: it may be removed from `SEAL_KEYS` an hour after a new key was " +
            "put in front.",
        ),
      }),
      example: {
        id: "k1",
        use: "opens",
        identityProviders: 0,
        signingKeys: 0,
        secondFactors: 0,
        clientSecrets: 0,
        pushSubscriptions: 0,
        mayGo: true,
      },
    },
    AuditCopy: { schema: obj(copyFields), example: copy },
    AuditCopyLines: {
      schema: obj({ ...copyFields, lines: list({ type: "string" }, "Its lines, each ending with its hash.") }),
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
        reason: str("The grant, or the first reason for a refusal."),
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
              "The check.",
            ),
            "scope?": str("The scope, if the check is about one."),
            passed: bool("Whether the check passed."),
            detail: str("The finding, and what to change."),
          }),
          "All checks, in order.",
        ),
        scopes: list(
          obj({
            scope: str("A requested scope."),
            granted: bool("Whether it alone would be granted."),
            reason: str("Why."),
          }),
          "Each scope as if it were requested alone.",
        ),
        effective: list({ type: "string" }, "Scopes of the token; empty if there is none."),
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
        topic: str("Its topic: `<owner>.<eventType>`."),
        client: str("The client that made it."),
        name: str("Its name, unique for the client on the topic."),
        endpointOrigin: uri("Scheme, host and port of its endpoint."),
        state: STATE,
        halt: HALT,
        right: RIGHT,
        made: orNull(
          obj(
            {
              tenant: str("The token's tenant."),
              requestId: str("By which request."),
              scope: orNull(str("The scope that covered the topic; null: the owner needs none.")),
            },
            "The client token that made it; null: unknown.",
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
        kid: str("The key's id in tokens."),
        alg: oneOf(["ES256", "RS256"], "Access tokens or ID tokens."),
        state: oneOf(
          ["published", "signs", "verifies", "gone"],
          "`published` before its use, `verifies` after it, `gone` from `/jwks`.",
        ),
        createdAt: time("When it was made."),
        signsFrom: time("When it begins to sign."),
        publishedUntil: orNull(time("When it leaves `/jwks`; null: not known yet.")),
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
            kind: oneOf(ALL_KINDS, "The kind of difference."),
            key: str("The object's key."),
            fileId: orNull(str("The file; null: no row names it.")),
            client: orNull(str("The client that owns the file.")),
            tenant: orNull(str("The tenant of the file.")),
            row: place("The row; null: there is none."),
            object: place("The object; null: there is none."),
            outcome: orNull(oneOf(["repaired", "obsolete"], "The result of its repair; null: not repaired yet.")),
          }),
          "A page of findings.",
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
    ...METRICS_ENTRIES,
    ...TOPIC_ENTRIES,
    ...BACKUP_ENTRIES,
    ...RESTORE_ENTRIES,
    ...FILE_ENTRIES,
    "GET /tenants/{id}/usage": {
      id: "getTenantUsage",
      tag: TAGS.tenants,
      about:
        "With a month, also for a tenant that is gone. The numbers of a month may be too small by what isolates counted " +
        "in their last 10 s, and are never too large; stored bytes are counted once an hour.",
      parameters: { month: { text: "A month of the last two years, of UTC.", example: "2026-11" } },
      answers: { 200: { text: "What it stores, and used.", json: ref("TenantUsage") } },
      errors: { 404: "" },
    },
    "POST /organizations/{id}/invitations/{email}/link": {
      id: "makeInvitationLink",
      tag: TAGS.users,
      about:
        "The link works once, for a day, and is in this answer alone; it voids the links before. The person becomes a " +
        "member by it. The account is made if there is none; the person chooses its password. No mail is sent, and the " +
        "link proves no address.",
      body: {
        fields: {
          roles: "Roles of the member.",
          name: "The name of a new account; default: the address.",
          language: "The language of the page; default: that of the browser.",
        },
        example: { roles: ["operator"] },
      },
      answers: {
        201: {
          text: "The link.",
          json: obj({ link: uri("The page that asks for a password."), expiresAt: time("When the link ends.") }),
          example: {
            link: "https://plinth.example.com/oauth2/v1/invitation?token=Zm9vYmFy",
            expiresAt: 1_763_086_400_000,
          },
        },
      },
      errors: { 404: "There is no such organization." },
    },
    "GET /attention": {
      id: "readAttention",
      tag: TAGS.upkeep,
      about:
        "Besides the checks of `/health/deep`. At most 20 of each kind are shown. A push subscription appears some minutes " +
        "after its trouble began. Of tenants the first 1,000 are looked at, and in each shard the first 40 push " +
        "subscriptions of three kinds: disabled ones, those without a right, and those that fail or have dead letters.",
      answers: {
        200: {
          text: "What needs a person; empty: nothing.",
          json: obj({
            items: list(
              obj({
                kind: oneOf(
                  [
                    "account_blocked",
                    "push_stopped",
                    "push_failing",
                    "dead_letters",
                    "logouts_untold",
                    "quota_almost_full",
                  ],
                  "What is wrong.",
                ),
                subject: str("An e-mail address, the id of a push subscription, a client, or a tenant."),
                topic: orNull(str("The topic of the push subscription.")),
                name: orNull(str("The name of the push subscription.")),
                count: orNull(int("Dead letters, events that wait, logouts, or percent of the quota.")),
                untilAt: orNull(time("When the block ends.")),
              }),
              "What needs a person.",
            ),
          }),
          example: {
            items: [
              {
                kind: "account_blocked",
                subject: "ada@demo.example",
                topic: null,
                name: null,
                count: null,
                untilAt: 1_763_000_900_000,
              },
            ],
          },
        },
      },
    },
    "POST /users/{email}/unlock": {
      id: "unlockUser",
      tag: TAGS.users,
      about: "Too many wrong passwords block an account for a while. This ends the block at once.",
      answers: { 204: { text: "The user may sign in again." } },
      errors: { 404: "" },
    },
    "DELETE /users/{email}/second-factor": {
      id: "removeUserSecondFactor",
      tag: TAGS.users,
      about: "For a person who has lost the app and the recovery codes. Make sure who asks. Sessions go on.",
      answers: { 204: { text: "The password is enough, unless a tenant, role or client asks for two factors." } },
      errors: { 404: "" },
    },
    "POST /identity-providers/{id}/test": {
      id: "testIdentityProvider",
      tag: TAGS.users,
      about:
        "It is asked what a sign-in asks it, up to the code: nobody is signed in. The first check that fails is the last.",
      answers: { 200: { text: "What each check found.", json: ref("ProviderTrial") } },
      errors: { 404: "" },
    },
    "GET /users/{email}/sessions": {
      id: "listUserSessions",
      tag: TAGS.users,
      about:
        "A session is one signed-in browser; it lives 12 hours. `POST /sessions/{sessionId}/revoke` ends one with its " +
        "tokens, `POST /users/{email}/revoke` ends all.",
      answers: { 200: { text: "At most 100, the last used first.", json: list(ref("UserSession")) } },
      errors: { 404: "" },
    },
    "GET /users/{email}/passkeys": {
      id: "listUserPasskeys",
      tag: TAGS.users,
      about: "A passkey signs the person in without a password. The person adds them at the account page.",
      answers: {
        200: {
          text: "At most twenty, the oldest first.",
          json: list(ref("Passkey")),
        },
      },
      errors: { 404: "" },
    },
    "DELETE /users/{email}/passkeys/{passkey}": {
      id: "removeUserPasskey",
      tag: TAGS.users,
      about:
        "For a person who has lost it. Make sure who asks. Sessions go on. The person gets a mail, if the platform sends any.",
      answers: { 204: { text: "The passkey signs nobody in any more." } },
      errors: { 404: "" },
    },
    "POST /clients/{clientId}/secret": {
      id: "makeClientSecret",
      tag: TAGS.clients,
      about: "Put the new secret into the client within 24 h. Then nothing fails while it changes.",
      answers: {
        201: {
          text: "The new secret, shown only this once.",
          json: ref("NewClientSecret"),
          headers: ["Cache-Control"],
        },
      },
      errors: {
        404: "",
        409:
          "`not_confidential`: make it confidential by PUT, which shows the first secret. `built_in`: a client " +
          "of the platform itself.",
      },
    },
    "GET /unregistered-clients": {
      id: "listUnregisteredClients",
      tag: TAGS.clients,
      about: "What they say about themselves has been checked by nobody. Those that nobody uses go by themselves.",
      parameters: {
        kind: {
          text: "`document`: its id is the address of a document. `registered`: it registered itself.",
          example: "document",
        },
      },
      answers: { 200: { text: "A page, by id.", json: list(ref("UnregisteredClient")), headers: ["Link"] } },
    },
    "DELETE /unregistered-clients/{clientId}": {
      id: "removeUnregisteredClient",
      tag: TAGS.clients,
      about: "One that a document describes comes again as soon as a person allows it again.",
      answers: { 204: { text: "It has no token and no grant any more." } },
      errors: { 404: "" },
    },
    "GET /clients/{clientId}/logout-deliveries": {
      id: "listLogoutDeliveries",
      tag: TAGS.clients,
      about: "Those that arrived are not there any more. Dead ones are kept for 30 days.",
      parameters: {
        state: { text: "`pending`: not there yet. `dead`: every attempt failed, and none follows.", example: "dead" },
      },
      answers: { 200: { text: "A page, by id.", json: list(ref("LogoutDelivery")), headers: ["Link"] } },
      errors: { 404: "" },
    },
    "POST /clients/{clientId}/logout-deliveries/redeliver": {
      id: "redeliverLogouts",
      tag: TAGS.clients,
      about:
        "Begins the schedule of the dead ones again, at most 500 a call, the latest first. Ends the pause of an endpoint " +
        "that did not answer. They are sent by the next run of the cron, within five minutes.",
      answers: {
        200: {
          text: "How many are sent again.",
          json: obj({ redelivered: int("Logout tokens.") }),
          example: { redelivered: 3 },
        },
      },
      errors: { 404: "" },
    },
    "POST /clients/{clientId}/revoke": revoke(
      "revokeClient",
      `The client stays registered and gets new tokens at once. ${ENDED_LIMIT}`,
      true,
    ),
    "POST /users/{email}/revoke": revoke(
      "revokeUser",
      "The user stays registered and can sign in again at once.",
      true,
    ),
    "POST /tenants/{id}/revoke": revoke(
      "revokeTenant",
      "The tenant stays registered, and new tokens are issued for it at once.",
      true,
    ),
    "POST /sessions/{sessionId}/revoke": revoke(
      "revokeSession",
      "The session gets no more tokens; its user can sign in again at once.",
      false,
    ),
    "GET /explain": {
      id: "explain",
      tag: TAGS.control,
      about:
        "Applies the rules of `/token` and `/authorize` to current records. A client alone asks for itself; " +
        "with a user, the user signs in for it; a user alone signs in by password without a client. Unknown " +
        "names are answered too.",
      parameters: {
        client: { text: "The client's id; `user`, or both, may be given instead.", example: "demo.shop" },
        tenant: { text: "The tenant of the token.", example: "demo" },
        user: { text: "The user's e-mail.", example: "ada@demo.example", schema: { format: "email" } },
        scope: {
          text: "Scopes, separated by spaces; default: all that can be granted.",
          example: "plat.media_admin",
        },
        grant: { text: "The grant type; default: the client's first." },
      },
      answers: { 200: { text: "The result, with the reasons.", json: ref("Explanation") } },
    },
    "GET /push-subscriptions": {
      id: "listOperatedSubscriptions",
      tag: TAGS.control,
      about: "All clients' subscriptions, by id, without paths, users and passwords of endpoints.",
      parameters: {
        client: { text: "Only those of this client.", example: "acme.erp" },
        topic: { text: "Only those of this topic, `<owner>.<eventType>`.", example: "demo.shop.orderCreated" },
        maker: {
          text: "`unknown`: only those whose maker is unknown, perhaps a person. The client's next update records it.",
        },
      },
      answers: {
        200: { text: "A page of subscriptions.", json: list(ref("OperatedSubscription")), headers: ["Link"] },
      },
    },
    "GET /push-subscriptions/{subscriptionId}": {
      id: "getOperatedSubscription",
      tag: TAGS.control,
      about: "A push subscription sends a topic's events to an endpoint of its client.",
      answers: { 200: { text: "The subscription.", json: ref("OperatedSubscription") } },
      errors: { 404: "" },
    },
    "DELETE /push-subscriptions/{subscriptionId}": {
      id: "removeOperatedSubscription",
      tag: TAGS.control,
      about: "Nothing more is sent, except deliveries in flight. The client can make it again while it has the right.",
      answers: { 204: { text: "Removed." } },
      errors: { 404: "" },
    },
    "GET /seal-keys": {
      id: "listSealKeys",
      tag: TAGS.upkeep,
      about:
        "The first key encrypts, all of them decrypt. Secrets under another key are encrypted again within " +
        "minutes; upload links and pending sign-ins live an hour at most.",
      answers: { 200: { text: "The keys; the first one encrypts.", json: list(ref("SealKey")) } },
    },
    "GET /shards": {
      id: "listShards",
      tag: TAGS.upkeep,
      about:
        "All databases are asked, six at a time, each for at most three seconds. One that does not answer is shown with " +
        "the size that was measured last. Round trips are counted within seconds, over the last hour; they are `null` while " +
        "the metrics do not answer.",
      answers: { 200: { text: "The shards by number; 0 is the directory.", json: list(ref("Shard")) } },
    },
    "GET /tenant-objects": {
      id: "listTenantObjects",
      tag: TAGS.upkeep,
      about: "An object is swept within five minutes after a change, and reports what it stores then.",
      parameters: { tenant: { text: "Only that of this tenant.", example: "acmeshop" } },
      answers: { 200: { text: "A page of objects, by number.", json: list(ref("TenantObject")), headers: ["Link"] } },
    },
    "GET /tenant-objects/sum": {
      id: "sumTenantObjects",
      tag: TAGS.upkeep,
      about: "It adds what the last sweep of each object found, and asks no object.",
      answers: { 200: { text: "The sums.", json: ref("TenantObjectSums") } },
    },
    "POST /tenants/{id}/move": {
      id: "moveTenant",
      tag: TAGS.upkeep,
      about:
        "The tenant works meanwhile: reads are answered all the time, changes of its files get 503 with `Retry-After` for " +
        "some moments at the end. A part is done beside the answer, the rest by the cron. A repeat shows the move.",
      body: {
        fields: {
          shard:
            "The number of the shard, or `own`: an object of the tenant's own, if the deployment has `tenant_objects`.",
          near: "Where that object is to lie, if the tenant never had one: a location hint of Cloudflare.",
        },
        example: { shard: 2 },
      },
      answers: { 202: { text: "It moves.", json: ref("TenantMove") } },
      errors: {
        404: "",
        409:
          "`already_there`, `move_under_way` (to another shard), `crowded` (32 tenants with files have moved from the shard, " +
          "or from shards whose tenants moved there, to objects of their own), or `job_under_way`: a backup or restore runs.",
      },
    },
    "GET /tenants/{id}/move": {
      id: "readMove",
      tag: TAGS.upkeep,
      about: "The latest one, also after it is done.",
      answers: { 200: { text: "The latest move.", json: ref("TenantMove") } },
      errors: { 404: "The tenant never moved." },
    },
    "GET /signing-keys": {
      id: "listSigningKeys",
      tag: TAGS.upkeep,
      about: "Signing keys sign tokens. Services check tokens with their public halves, which `/jwks` shows.",
      answers: {
        200: { text: "A page of keys, never their private parts.", json: list(ref("SigningKey")), headers: ["Link"] },
      },
    },
    "POST /signing-keys": {
      id: "rotateSigningKeys",
      tag: TAGS.upkeep,
      about:
        "They change every 90 days by themselves. New keys sign within 10 minutes; the old ones verify until their tokens have ended. After a leak, send `leaked=true`.",
      parameters: {
        leaked: { text: "`true`: the earlier keys end at once, and every access token and ID token with them." },
      },
      answers: { 201: { text: "The new keys.", json: list(ref("SigningKey")) } },
      errors: { 429: "Too many active signing keys. Wait until an older key expires." },
    },
    "GET /media/consistency": {
      id: "listComparisons",
      tag: TAGS.upkeep,
      about: "A comparison finds bytes without a row, and rows without bytes.",
      answers: { 200: { text: "A page of comparisons.", json: list(ref("Comparison")), headers: ["Link"] } },
    },
    "POST /media/consistency": {
      id: "startComparison",
      tag: TAGS.upkeep,
      about: "It reads every row of a file and every object of the bucket, and changes nothing.",
      answers: {
        202: { text: "It is running; `Location` is its report.", json: ref("Comparison"), headers: ["Location"] },
      },
      errors: { 409: "`repair_under_way`: wait until the repair is done." },
    },
    "GET /media/consistency/{id}": {
      id: "getComparison",
      tag: TAGS.upkeep,
      about: "Poll it until `state` is `done`. The findings come in pages; the `Link` header leads to the next.",
      parameters: { id: { text: "The comparison's id.", example: RUN_ID } },
      answers: { 200: { text: "The report.", json: ref("ComparisonReport"), headers: ["Link"] } },
      errors: { 404: "" },
    },
    "POST /media/consistency/{id}/repair": {
      id: "repairComparison",
      tag: TAGS.upkeep,
      about: "Checks each finding again before it repairs it.",
      parameters: { id: { text: "The comparison's id.", example: RUN_ID } },
      answers: {
        202: {
          text: "The repair is running; `Location` is the report.",
          json: ref("Comparison"),
          headers: ["Location"],
        },
      },
      errors: { 404: "", 409: "`comparison_running`, or `other_run_under_way`." },
    },
    "GET /audit": {
      id: "listAudit",
      tag: TAGS.upkeep,
      about:
        "In the order of the changes, the newest first. A page with a filter reads at most 50,000 rows, until it is full; " +
        "`Link` leads on, also from a page without rows. Rows are kept for 90 days; the number of refusals is limited.",
      parameters: {
        requestId: { text: "Only of this request: an error's `plat-request-id`, or the end of `error_uri`." },
        subject: { text: "Only subjects with this prefix.", example: "tenants/demo" },
        actor: { text: "Only of this actor.", example: "plat.operator" },
        action: { text: "Only of this action.", example: "put" },
        outcome: { text: "Only with this outcome." },
        since: { text: "From this time on, in ms since 1970.", schema: TIME },
        until: { text: "Up to this time, in ms since 1970.", schema: TIME },
      },
      answers: { 200: { text: "A page of rows.", json: list(ref("AuditRow")), headers: ["Link"] } },
    },
    "GET /audit/copies": {
      id: "listAuditCopies",
      tag: TAGS.upkeep,
      about:
        "Each line ends with the SHA-256 of the previous line's hash, a line feed, and its own text without " +
        "the hash. The first line continues the previous copy.",
      answers: { 200: { text: "A page of copies.", json: list(ref("AuditCopy")), headers: ["Link"] } },
    },
    "POST /audit/copies": {
      id: "copyAudit",
      tag: TAGS.upkeep,
      about: "The cron copies the log once a day, or when 2,000 rows wait. Repeat this until `done`.",
      answers: {
        200: {
          text: "How far it is.",
          json: obj({ done: bool("Every row is in a copy.") }),
          example: { done: true },
        },
      },
    },
    "GET /audit/copies/{number}": {
      id: "getAuditCopy",
      tag: TAGS.upkeep,
      about: "A copy holds rows of the audit log as lines. Each line has a hash, by which a change shows.",
      parameters: { number: { text: "The copy's number.", example: "2" } },
      answers: { 200: { text: "The copy and its lines.", json: ref("AuditCopyLines") } },
      errors: { 404: "There is no such copy, or it is no longer in the bucket." },
    },
  },
};
