import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { createAuditLog } from "../src/admin/audit/audit-log.ts";
import { AUDIT_SQL } from "../src/admin/audit/audit-store.ts";
import { createApp } from "../src/app.ts";
import { createDeps } from "../src/deps.ts";
import { BY_PLATFORM, pushAudit } from "../src/events/push/record/audit.ts";
import { PUSH_SQL } from "../src/events/push/record/record-store.ts";
import { USAGE_SQL } from "../src/media/files/usage-store.ts";
import { BULK_SQL } from "../src/media/variants/bulk-store.ts";
import { createIdentityStore } from "../src/oauth/federation/identity-store.ts";
import { createElsewhere } from "../src/oauth/homes/elsewhere.ts";
import { RUN_MS, RUNS_OF_AN_HOUR } from "../src/platform/storage/slice.ts";
import { toBase64Url, utf8 } from "../src/platform/text/encoding.ts";
import { systemRandom } from "../src/platform/runtime/random.ts";
import { runSchedule } from "../src/schedule.ts";
import { homeOf } from "../src/platform/storage/home.ts";
import { TENANT_OBJECT_SQL } from "../src/shards/tenant-object-store.ts";
import { SIZE_SQL } from "../src/shards/size-store.ts";
import { makeApplication, toClient } from "./support/parties/idp/application.ts";
import { Browser } from "./support/parties/idp/browser.ts";
import { answerToken, claimsFor, sign } from "./support/parties/idp/id-token.ts";
import { makeProvider } from "./support/parties/idp/scripted-provider.ts";
import { comeBack } from "./support/parties/idp/come-back.ts";
import { sendOffUnlinked } from "./support/parties/idp/sent-off.ts";
import { codeFor, VERIFIER } from "./oauth/support/code.ts";
import { makePublicFlow, REDIRECT } from "./oauth/support/flow.ts";
import type { Tokens } from "./oauth/support/token-requests.ts";
import { Browser as PageBrowser, landed, toInit } from "./support/browser.ts";
import { explain } from "./support/explain.ts";
import { isolate } from "./support/isolate.ts";
import { ORIGIN } from "./support/platform/call.ts";
import { OPERATOR } from "./support/platform/operator.ts";
import { basic } from "./support/platform/tokens.ts";
import { makePerson, tokenOf } from "./support/parties/operators.ts";
import { makeApp, signInThrough, visit } from "./support/sign-in.ts";
import { setUpApp } from "./support/parties/totp.ts";
import { makeUser } from "./support/users.ts";
import { checkElsewhere } from "./support/sweep.ts";
import { shardBinding, shardsOf } from "../src/platform/storage/shards.ts";

/**
 * Runs the platform's whole story and lets the database explain every statement: none scans a table. A new statement is
 * checked as soon as an operation in the story uses it.
 */
const statements = new Set<string>();

const recordingOf = (db: D1Database) =>
  new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name === "prepare") statements.add(args[0] as string);
        return value.apply(target, args) as unknown;
      };
    },
  });
const recordingDb = recordingOf(env.DB);
const others = Object.fromEntries(
  shardsOf(env)
    .slice(1)
    .map(({ number, db }) => [shardBinding(number), recordingOf(db)]),
);
const recording = { ...env, ...others, DB: recordingDb };
const deps = createDeps(recording);
const app = createApp(deps);

async function send(path: string, method: string, bearer?: string, body?: unknown): Promise<any> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (bearer !== undefined) headers["authorization"] = `Bearer ${bearer}`;
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const context = createExecutionContext();
  const response = await app.fetch(new Request(new URL(path, ORIGIN), init), recording, context);
  await waitOnExecutionContext(context);
  const text = await response.text();
  if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

async function token(client: { clientId: string; clientSecret: string }): Promise<string> {
  const headers = { authorization: basic(client), "content-type": "application/x-www-form-urlencoded" };
  const request = new Request(`${ORIGIN}/oauth2/v1/token`, {
    method: "POST",
    headers,
    body: "grant_type=client_credentials",
  });
  return (await (await app.fetch(request, recording, createExecutionContext())).json<any>()).access_token as string;
}

/** Signs in on the platform's page twice in one browser, then signs out. */
async function signInHere(home: number): Promise<void> {
  const user = await makeUser({ home });
  const client = await makeApp({ tenant: user.tenant });
  const recorded = isolate({ ...others, DB: recordingDb });
  const browser = new PageBrowser({ send: (at, init) => recorded.fetch(at.slice(ORIGIN.length), toInit(init)) });
  await signInThrough(browser, client, user);
  await signInThrough(browser, client, user, { prompt: "login" });
  const answer = await visit(browser, client);
  if (!landed(answer).query.has("code")) throw new Error("no code came of the sign-in");
  await browser.get(`${ORIGIN}/oauth2/v1/end_session?client_id=${client.clientId}`);
}

/** What ends sign-ins of another shard. */
async function endElsewhere(): Promise<void> {
  const elsewhere = createElsewhere(shardsOf(recording));
  const grant = { id: "g", clientId: "c", email: "a@b.example" };
  for (const email of [undefined, grant.email]) {
    await elsewhere.voidSession("s", email);
    await elsewhere.endSession("s", email);
  }
  await elsewhere.removeOfSession("s", [grant]);
  for (const kind of ["client", "tenant"] as const) await elsewhere.end(kind, "x");
  await elsewhere.endSignedOut("a@b.example", 0);
  for (const kind of ["user", "client"] as const) await elsewhere.forget(kind, "x");
  await elsewhere.directory.signedOutAt("a@b.example");
  await elsewhere.endAccess(grant.email, grant.clientId);
  await elsewhere.dropAnchors(1, [grant.email]);
  for (let n = 0; n < RUNS_OF_AN_HOUR; n++) await checkElsewhere(shardsOf(recording), n * RUN_MS);
}

/** Sets up an authenticator app, signs in by it and by a recovery code, and removes it. */
async function useSecondFactor(): Promise<void> {
  const user = await makeUser();
  const recorded = isolate({ ...others, DB: recordingDb });
  const browser = new PageBrowser({ send: (at, init) => recorded.fetch(at.slice(ORIGIN.length), toInit(init)) });
  const account = `${ORIGIN}/account`;
  const signIn = async () => browser.submit(await browser.get(account), { email: user.email, password: user.password });
  await signIn();
  const { app: authenticator, recoveryCodes } = await setUpApp(browser, ORIGIN, user.password);
  browser.cookies.clear();
  await signIn();
  await browser.submit(await browser.get(account), { code: authenticator.code() });
  for (const form of ["recovery", "remove"]) {
    const { fields } = (await browser.get(account)).forms[0]!;
    const code = form === "recovery" ? recoveryCodes[0]! : authenticator.code(-1);
    await browser.post(`${account}/second-factor/${form}`, {
      ...fields,
      recovery_code: code,
      code: form === "recovery" ? "" : code,
    });
  }
  if (!(await browser.get(account)).html.includes("second-factor/set-up")) throw new Error("it was not removed");
}

/** Signs in at an identity provider for the first time, from `/authorize` to the client's code. */
async function signInOutside(): Promise<void> {
  const application = await makeApplication();
  const tenants = [application.clientId.split(".")[0] ?? ""];
  const provider = await makeProvider({ linking: "verified_email", domains: ["example.org"], tenants });
  const sent = await sendOffUnlinked(
    application,
    provider,
    new Browser(isolate({ ...others, DB: recordingDb, SUBJECT: "opaque" })),
  );
  await answerToken(provider, await sign(claimsFor(application, provider, sent), provider.signer));
  if (!("code" in toClient(await comeBack(provider, sent)))) throw new Error("no code came of the sign-in");
  const { email } = application;
  const identities = createIdentityStore(recordingDb);
  const account = { provider: provider.id, issuer: provider.issuer, subject: "another" };
  await identities.linkInSession(account, email, { sid: "s", elsewhereSinceMs: null }, Date.now(), []);
  await identities.unlink(email, provider.id, []);
}

/** Redeems a code and uses its refresh token, for client and user. */
async function useGrants(home: number): Promise<void> {
  const flow = await makePublicFlow({}, home);
  const { clientId } = flow.client;
  const recorded = isolate({ ...others, DB: recordingDb });
  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    recorded.fetch(`/oauth2/v1/${path}`, { method: "POST", headers, body: new URLSearchParams(form) });
  const redeem = async (code: string): Promise<Tokens> => {
    const form = { grant_type: "authorization_code", redirect_uri: REDIRECT, code_verifier: VERIFIER };
    return (await post("token", { ...form, client_id: clientId, code })).json<Tokens>();
  };
  const code = await codeFor(flow);
  const first = await redeem(code);
  const form = { grant_type: "refresh_token", refresh_token: first.refresh_token, client_id: clientId };
  const second = await (await post("token", form)).json<Tokens>();
  await post("introspect", { token: second.refresh_token }, { authorization: basic(OPERATOR) });
  await redeem(code);
  const [third, fourth] = [await redeem(await codeFor(flow)), await redeem(await codeFor(flow))];
  const headers = { authorization: `Bearer ${fourth.access_token}` };
  await recorded.fetch("/oauth2/v1/userinfo", { headers });
  for (const [method, path] of [
    ["GET", ""],
    ["GET", `?clientId=${clientId}`],
    ["DELETE", "/unknown"],
    ["DELETE", `?clientId=${clientId}`],
  ])
    await recorded.fetch(`/oauth2/v1/refreshtokens${path}`, { method: method!, headers });
  const revoked = await post("revoke", {
    token: `${third.refresh_token},${(await redeem(await codeFor(flow))).refresh_token}`,
  });
  if (revoked.status !== 200) throw new Error("the grants of this story did not come about");
}

/** A comparison of R2 with D1 that finds an object without a row, and its repair. */
async function compareMedia(admin: (path: string, method: string) => Promise<any>): Promise<void> {
  await env.MEDIA.put("blob/of-nobody", "x");
  const { id } = await admin("media/consistency", "POST");
  const laterMs = Date.now() + 86_400_000;
  const goOn = async (state: string): Promise<void> => {
    while ((await admin(`media/consistency/${id}`, "GET")).state !== state)
      await deps.media.consistency.step(id, laterMs);
  };
  await goOn("done");
  await admin(`media/consistency/${id}/repair`, "POST");
  await goOn("repaired");
  await admin("media/consistency", "GET");
}

/** Runs each plan of a listing: by id, by one or more conditions, along one or more keys, from a cursor. */
async function listMedia(access: string): Promise<void> {
  for (let at = 0; at < 20; at++) {
    const type = at === 0 ? "image/png" : "binary/octet-stream";
    const file = await send("/media/v2/files", "POST", access, { "Content-Type": type });
    const context = createExecutionContext();
    const headers = { "content-type": type };
    await app.fetch(new Request(file.uploadLink, { method: "PUT", body: "x", headers }), recording, context);
    const more = at % 2 === 0 ? { c: at, long: "x".repeat(5000) } : {};
    await send(file.commitLink, "POST", access, { a: 1, b: at, ...more });
  }
  const filters = ["", "&q=a:1", "&q=a:1 b:2", "&q=b:3", "&content-type=image/png,binary/octet-stream"];
  for (const sort of ["", "&sort=b", "&sort=c:desc", "&sort=a,c:desc", "&sort=a:desc,c"])
    for (const filter of filters) {
      const path = `/media/v2/files?tenant=acme&pageSize=3${sort}${filter}`;
      await send(`${path}&pageNumber=2`, "GET", access);
      for (const cursor of sort === ""
        ? [["x"]]
        : sort.includes(",")
          ? [
              [1, 2, "x"],
              [1, null, "x"],
              [null, null, "x"],
            ]
          : [
              [2, "x"],
              [null, "x"],
            ])
        await send(`${path}&cursor=${toBase64Url(utf8(JSON.stringify(cursor)))}`, "GET", access);
    }
  for (const method of ["POST", "DELETE"])
    for (const dryRun of ["true", "false"])
      await send(`/media/v2/bulk/variants?tenant=acme&clip=5x5&dryRun=${dryRun}`, method, access);
}

/** Forgets the password and gets another by a link. */
async function recover(): Promise<void> {
  const user = await makeUser();
  const client = await makeApp({ tenant: user.tenant });
  const links: string[] = [];
  const sendMail = async ({ text }: { text: string }) => void links.push(/https:\S+/.exec(text)![0]);
  const mail = { MAIL: { send: sendMail } as unknown as SendEmail, MAIL_FROM: "a@b.example", PUBLIC_URL: ORIGIN };
  const recorded = isolate({ ...others, DB: recordingDb, ...mail });
  const browser = new PageBrowser({ send: (at, init) => recorded.fetch(at.slice(ORIGIN.length), toInit(init)) });
  const { fields } = (await visit(browser, client)).forms[0]!;
  await browser.post(`${ORIGIN}/oauth2/v1/forgot`, { ...fields, email: user.email, send: "1" });
  const page = await browser.get(links[0]!);
  const password = "a quite different password";
  const done = await browser.submit(page, { new_password: password, repeated_password: password });
  if (done.status !== 200) throw new Error("the password did not change");
  const other = await makeUser();
  const { email } = other;
  await browser.submit(await browser.get(`${ORIGIN}/account?plat_id_provider=default_idp`), {
    email,
    password: other.password,
  });
  const account = await browser.get(`${ORIGIN}/account`);
  const verify = account.forms.find(({ action }) => action.endsWith("/verify-address"))!;
  await browser.post(verify.action, verify.fields);
  if ((await browser.submit(await browser.get(links.at(-1)!), {})).status !== 200) throw new Error("not verified");
  const operator = await token(OPERATOR);
  const headers = { authorization: `Bearer ${operator}`, "content-type": "application/json" };
  for (const place of ["tenants", "organizations"]) {
    const path = `/admin/v1/${place}/acme/invitations`;
    const ask = (at: string, method: string, body?: string) =>
      recorded.fetch(at, { method, headers, ...(body === undefined ? {} : { body }) });
    await ask(`${path}/${user.email}`, "PUT", JSON.stringify({ roles: [] }));
    await ask(path, "GET");
    if ((await browser.submit(await browser.get(links.at(-1)!), {})).status !== 200) throw new Error("not a member");
    await ask(`${path}/grace@acme.example`, "PUT", JSON.stringify({ roles: [] }));
    await ask(`${path}/grace@acme.example`, "GET");
    await ask(`${path}/grace@acme.example`, "DELETE");
  }
}

/** Runs the tenants of an organization, as a person who may do no more. */
async function runOrganization(): Promise<void> {
  const person = await makePerson(["plat.admin_tenant"]);
  const access = await tokenOf(person);
  const { tenant, organization, user } = person;
  const id = `${tenant}.shop`;
  const client = { tenant, confidential: true, grantTypes: ["client_credentials"], scopes: [] };
  for (const [path, method, body] of [
    ["organizations", "GET"],
    ["tenants", "GET"],
    ["tenants?q=a", "GET"],
    ["clients?q=a", "GET"],
    [`tenants/${tenant}/usage`, "GET"],
    [`clients/${id}`, "PUT", client],
    ["clients", "GET"],
    [`clients/${id}/secret`, "POST"],
    [`clients/${id}`, "DELETE"],
    [`tenants/${tenant}/members/${user.email}`, "PUT", { roles: [person.role] }],
    [`tenants/${tenant}/members`, "GET"],
  ] as const)
    await send(`/admin/v1/${path}`, method, await (path.includes("/members") ? tokenOf(person) : access), body);
  const again = await tokenOf(person);
  await send(`/admin/v1/organizations/${organization}/members/${user.email}`, "DELETE", again);
}

beforeAll(async () => {
  const operator = await token(OPERATOR);
  const admin = (path: string, method: string, body?: unknown) => send(`/admin/v1/${path}`, method, operator, body);
  const resources: [string, object][] = [
    ["organizations/acme", { name: "Acme" }],
    ["tenants/acme", { organization: "acme", name: "Acme" }],
    ["users/ada@acme.example", { name: "Ada" }],
    ["roles/clerk", { scopes: ["shop.read"] }],
    ["tenants/acme/members/ada@acme.example", { roles: ["clerk"] }],
    ["organizations/acme/members/ada@acme.example", { roles: ["clerk"] }],
    [
      "services/shop",
      { sourceUrl: "https://s.example", proxyPath: "/shop", scopes: ["shop.read"], tenant: "acme", access: "token" },
    ],
    ["packages/shop", { version: "1", organization: "acme", services: ["shop"] }],
    ["tenants/acme/subscriptions/shop", {}],
    ["tenants/acme/subscriptions/platform", {}],
    ["identity-providers/acme", { issuer: "https://idp.acme.example", clientId: "plinth", clientSecret: "a secret" }],
    ["users/ada@acme.example/identities/acme", { subject: "248289761001" }],
    [
      "clients/acme.app",
      {
        tenant: "acme",
        confidential: true,
        service: "shop",
        grantTypes: ["client_credentials"],
        scopes: [
          "plat.pubsub_publish",
          "plat.pubsub.topic=*",
          "plat.media_view",
          "plat.media_manage",
          "plat.media_admin",
        ],
      },
    ],
  ];
  const made: any[] = [];
  for (const [path, body] of resources) {
    made.push(await admin(path, "PUT", body));
    await admin(path, "GET");
    await admin(path.slice(0, path.lastIndexOf("/")), "GET");
  }
  for (const list of ["tenants", "users", "clients"])
    for (const more of ["", "&pageSize=1&pageNumber=2"]) await admin(`${list}?q=A${more}`, "GET");
  const { clientSecret } = made.at(-1) as { clientSecret: string };
  await admin("clients/acme.app/secret", "POST");
  await admin("signing-keys", "POST");
  await admin("signing-keys", "GET");
  await admin("audit", "GET");
  await admin("attention", "GET");
  for (const query of ["", "&tenant=acme"]) await admin(`files?q=harbour${query}`, "GET");
  await admin("metrics?metric=stored_bytes", "GET");
  await compareMedia(admin);
  for (const filter of ["subject=users/", "actor=plat.operator", "action=put", "outcome=done"])
    await admin(`audit?${filter}`, "GET");

  const client = { clientId: "acme.app", clientSecret };
  const access = await token(client);
  // Push records in the directory, and in another shard.
  expect(["invoices", "orders"].map((eventType) => homeOf(`acme.app.${eventType}`, 4))).toEqual([0, 2]);
  for (const eventType of ["invoices", "orders"]) await pushEvents(eventType, access, admin);

  const file = await send("/media/v2/public/files?clip=10x10", "POST", access, { "Content-Type": "image/png" });
  const context = createExecutionContext();
  await app.fetch(
    new Request(file.uploadLink, { method: "PUT", body: "no image", headers: { "content-type": "image/png" } }),
    recording,
    context,
  );
  await send(file.commitLink, "POST", access, {});
  const address = `/media/v2/public/files/${file.id}`;
  await send(address, "GET");
  await send(`${address}/metadata`, "PUT", access, { a: 1 });
  await send(`${address}/metadata`, "GET", access);
  await send(`${address}/variants?crop=5x5`, "POST", access);
  await send(`${address}/variants`, "GET", access);
  await send(`${address}/variants`, "DELETE", access);
  await send(address, "DELETE", access);
  await listMedia(access);
  await send("/media/v2/erasures?tenant=acme", "GET", access);
  for (const dryRun of ["true", "false"])
    await send(`/media/v2/public/files?tenant=acme&q=a:1&dryRun=${dryRun}`, "DELETE", access);
  await send("/media/v2/public/files?tenant=acme&dryRun=true", "DELETE", access);
  await send("/media/v2/public/files?tenant=acme", "DELETE", access);
  await send("/media/v2/files?tenant=acme", "DELETE", access);
  const [{ id: erasureId }] = await send("/media/v2/erasures?tenant=acme", "GET", access);
  await send(`/media/v2/erasures/${erasureId}`, "GET", access);
  // Files that wait for the second look.
  await deps.media.sweep(Date.now() + 2 * 86_400_000);
  for (const home of [0, 1]) await signInHere(home);
  await endElsewhere();
  await useSecondFactor();
  await signInOutside();
  for (const home of [0, 1]) await useGrants(home);
  await recover();
  await runOrganization();
  await runSchedule(deps, Date.now());
  await send("/health/deep", "GET", operator);
  // Without room for a row, so that the sweep of the audit log has something to do.
  const operatorClientId = OPERATOR.clientId;
  const nothingKept = {
    ageMs: 86_400_000,
    rows: { operator: 0, done: 0, known: 0, unknown: 0, "": 0 },
    uncopied: { known: 0, unknown: 0 },
  };
  await createAuditLog({ db: recordingDb, log: deps.log, operatorClientId, wait: async () => {} }, nothingKept).sweep(
    Date.now(),
  );

  for (const query of [
    "client=acme.app&scope=shop.read plat.media_view x.y",
    "client=no.body",
    "client=acme.app&tenant=nosuch",
    "user=no@body.example",
    "user=ada@acme.example&tenant=nosuch",
    "user=ada@acme.example&scope=plat.media_view",
  ])
    await admin(`explain?${query}`, "GET");
  for (const path of ["clients/acme.app", "users/ada@acme.example", "tenants/acme", "sessions/s"])
    await admin(`${path}/revoke`, "POST");
  for (const [path] of resources.toReversed()) await admin(path, "DELETE");
});

/**
 * Allowed scans: a few signing keys, the codes of the last hours if an operator revokes, a row for each table with
 * numbers, the elements of a JSON parameter, the rows of a subquery (its own plan has lines of its own; some have
 * names), and an index that contains only the wanted rows.
 */
const MAY_BE_WALKED =
  /^SCAN (signing_key|authorization_code$|\w+ USING INDEX (?:file_pending|push_subscription_disabled)$|sqlite_sequence|\(subquery-\d+\)|(?:page|matching|walk|step|done|cut_off)$|\w+ VIRTUAL TABLE)/;

/** Sums over a table or two, once an hour or for an operator. */
const MAY_WALK = new Set<string>([
  USAGE_SQL.total,
  SIZE_SQL.tenants,
  SIZE_SQL.keep,
  TENANT_OBJECT_SQL.sums,
  PUSH_SQL.count,
  AUDIT_SQL.countShares,
]);
/** A row for each shard, of 240 at most. */
const OF_SHARDS = /^SCAN shard_size/;

async function pushEvents(
  eventType: string,
  access: string,
  admin: (path: string, method: string, body?: unknown) => Promise<any>,
): Promise<void> {
  const topic = `/pubsub/v1/topics/acme.app/${eventType}`;
  await send("/pubsub/v1/topics", "POST", access, { eventType });
  await send("/pubsub/v1/topics", "GET", access);
  await send(topic, "GET", access);
  await send(`${topic}/publish`, "POST", access, { payload: "x" });
  const read = await send(`${topic}/read`, "POST", access, {});
  await send(`${topic}/commit`, "POST", access, { token: read.token });

  const pushConfig = { endpoint: "https://shop.example/", basicAuth: { username: "shop", password: "secret" } };
  for (const name of ["one", "two"]) await send(`${topic}/subscriptions`, "POST", access, { name, pushConfig });
  await send(`${topic}/subscriptions`, "GET", access);
  await send(`${topic}/subscriptions/one`, "GET", access);
  await send(`${topic}/subscriptions/one`, "PUT", access, { pushConfig });
  await send(`${topic}/subscriptions/one/signing-secret`, "POST", access, {});
  await send(`${topic}/subscriptions/one`, "DELETE", access);
  await send(`${topic}/subscribers`, "GET", access);
  for (const filter of [
    "",
    "?client=acme.app",
    "?topic=a.b.c",
    "?client=a&topic=a.b.c&maker=unknown",
    "?maker=unknown",
  ])
    await admin(`push-subscriptions${filter}`, "GET");
  // Statements of the object, which uses the database itself, and data to be sealed anew.
  const [subscription] = await deps.push.store.someActive(systemRandom, 1);
  await deps.push.store.findById(subscription!.id);
  const row = pushAudit(subscription!, "disable", BY_PLATFORM, Date.now());
  await deps.push.store.disable(subscription!.id, 0, Date.now(), row);
  await deps.push.store.verify(subscription!.id, 0, "done", Date.now(), row);
  await deps.push.store.report(subscription!.id, "deliveries");
  await deps.push.store.inTrouble(1);
  await deps.push.store.reseal(subscription!, subscription!.credentials, "other");
  await deps.events.reseal();
  await admin("seal-keys", "GET");
  await admin("shards", "GET");
  for (const part of ["", "?tenant=acme", "/sum"]) await admin(`tenant-objects${part}`, "GET");

  await send(topic, "DELETE", access);
}

describe("every statement for D1", () => {
  it("is in the story", () => {
    expect(statements.size).toBeGreaterThan(60);
    for (const sql of [...Object.values(PUSH_SQL), ...Object.values(BULK_SQL)]) expect(statements).toContain(sql);
  });

  it("finds its rows by a key or an index", async () => {
    const walks: string[] = [];
    for (const sql of statements) {
      if (MAY_WALK.has(sql)) continue;
      const plan = await explain<{ detail: string }>(env.DB, "EXPLAIN QUERY PLAN", sql);
      for (const { detail } of plan)
        if (/^SCAN (?!CONSTANT)/.test(detail) && !MAY_BE_WALKED.test(detail) && !OF_SHARDS.test(detail))
          walks.push(`${detail}\n  in ${sql.trim()}`);
    }
    expect(walks).toEqual([]);
  });
});
