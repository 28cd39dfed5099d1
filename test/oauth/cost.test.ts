import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { parse } from "smol-toml";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import type { Env } from "../../src/env.ts";
import { hashPassword } from "../../src/platform/secrets/password-hash.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { counting, emptyTally } from "../support/counting.ts";
import { isolate as isolateOf, type Isolate } from "../support/isolate.ts";
import { Browser, landed, toInit } from "../support/browser.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { put } from "../support/platform/operator.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { makeApp, visit } from "../support/sign-in.ts";
import { directoryWith } from "../support/directory.ts";
import { makeUser } from "../support/users.ts";
import { CHALLENGE, VERIFIER } from "./support/code.ts";
import { makeFlow } from "./support/flow.ts";
import { signIn } from "./support/token-requests.ts";

/** A function of Vite, which runs the tests. */
interface Glob {
  glob(pattern: string, options: object): Record<string, string>;
}

/** A fresh isolate: new caches over counted bindings. */
function freshIsolate() {
  const counted = counting(env);
  const app = createApp(createDeps(counted.env));
  const fetch = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const context = createExecutionContext();
    const response = await app.fetch(new Request(new URL(path, ORIGIN), init), counted.env, context);
    await waitOnExecutionContext(context);
    return response;
  };
  return { ...counted, fetch };
}

/** The tally without any I/O. */
const NOTHING = emptyTally();

const tokenRequest = (client: TestClient): RequestInit => ({
  method: "POST",
  headers: { authorization: basic(client), "content-type": "application/x-www-form-urlencoded" },
  body: "grant_type=client_credentials",
});

let client: TestClient;
beforeEach(async () => {
  vi.useRealTimers();
  client = await makeClient();
  // A platform makes its signing keys once: one for the first token, the other for the first read of public keys.
  await tokenFor(client);
  await call("/oauth2/v1/jwks");
});

describe("The counter of the tests", () => {
  it("counts the rows that D1 bills, those of indexes too, for every way to run a statement", async () => {
    await env.DB.exec(
      "CREATE TABLE counted (n INTEGER PRIMARY KEY, m INTEGER); CREATE INDEX counted_m ON counted (m);",
    );
    const { env: bindings, tally, reset } = counting(env);
    const insert = (n: number) => bindings.DB.prepare("INSERT INTO counted VALUES (?1, ?1)").bind(n);
    await bindings.DB.batch([insert(1), insert(2)]);
    await insert(3).run();
    expect(tally).toMatchObject({ d1Statements: 3, d1RoundTrips: 2, d1RowsWritten: 6 });
    const read = bindings.DB.prepare("SELECT n FROM counted WHERE n > ?1").bind(1);
    for (const ask of [() => read.all(), () => read.first(), () => read.first("n")]) {
      reset();
      await ask();
      expect(tally.d1RowsRead).toBe(2);
    }
    expect([await read.first(), await read.first("n")]).toEqual([{ n: 2 }, 2]);
    expect(await read.bind(9).first()).toBeNull();
  });
});

describe("The D1 cost of a request (architecture, What an operation may cost)", () => {
  it("is nothing for client_credentials while the client is cached, else one round trip, and never a write", async () => {
    const isolate = freshIsolate();
    expect((await isolate.fetch("/oauth2/v1/token", tokenRequest(client))).status).toBe(200);
    // The isolate's first token also reads the signing keys.
    expect(isolate.tally.d1RoundTrips).toBe(2);
    isolate.reset();
    for (let n = 0; n < 5; n++)
      expect((await isolate.fetch("/oauth2/v1/token", tokenRequest(client))).status).toBe(200);
    expect(isolate.tally).toEqual(NOTHING);

    const another = await makeClient();
    const rows = await env.DB.prepare("SELECT count(*) AS n FROM revocation").first("n");
    expect((await isolate.fetch("/oauth2/v1/token", tokenRequest(another))).status).toBe(200);
    expect(isolate.tally.d1RoundTrips).toBe(1);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM revocation").first("n")).toBe(rows);
    expect(isolate.tally.auditRows).toBe(0);
  });

  it("is nothing more for a token for a service behind the gateway while the services are cached", async () => {
    const name = unique("svc-");
    const service = { sourceUrl: `https://${name}.example.com`, proxyPath: `/${name}/v1`, scopes: [], access: "token" };
    await put(`services/${name}`, { ...service, tenant: client.tenant });
    const isolate = freshIsolate();
    const asked = tokenRequest(client);
    const request = { ...asked, body: `${asked.body as string}&resource=${ORIGIN}/${name}/v1` };
    expect((await isolate.fetch("/oauth2/v1/token", request)).status).toBe(200);
    expect(isolate.tally.d1RoundTrips).toBe(3);
    isolate.reset();
    expect((await isolate.fetch("/oauth2/v1/token", request)).status).toBe(200);
    expect(isolate.tally).toEqual(NOTHING);
  });

  it("is one round trip for client_credentials after a pause; keys are read beside the response", async () => {
    const isolate = freshIsolate();
    await isolate.fetch("/oauth2/v1/token", tokenRequest(client));
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 31_000);
    isolate.reset();
    expect((await isolate.fetch("/oauth2/v1/token", tokenRequest(client))).status).toBe(200);
    expect(isolate.tally.d1RoundTrips).toBe(1);
  });

  it("is the same for unknown clients, which are cached too; a refusal writes one audit row beside the response", async () => {
    const isolate = freshIsolate();
    const stranger = { ...client, clientId: "no.body" };
    expect((await isolate.fetch("/oauth2/v1/token", tokenRequest(stranger))).status).toBe(401);
    expect(isolate.tally).toMatchObject({ d1RoundTrips: 1, auditRows: 1 });
    isolate.reset();
    expect((await isolate.fetch("/oauth2/v1/token", tokenRequest(stranger))).status).toBe(401);
    expect(isolate.tally).toMatchObject({ d1Statements: 0, auditRows: 1 });
    isolate.reset();
    expect((await isolate.fetch("/oauth2/v1/token", tokenRequest({ ...client, clientSecret: "wrong" }))).status).toBe(
      401,
    );
    expect(isolate.tally).toMatchObject({ d1RoundTrips: 1, auditRows: 1 });
  });

  it("does not delay a response by its audit row", async () => {
    const written = Promise.withResolvers<D1Result[]>();
    const slow: object = { bind: () => slow };
    const db = directoryWith({
      batch: (statements) =>
        statements.every((statement) => "run" in statement) ? env.DB.batch(statements) : written.promise,
      prepare: (sql) => (/^\s*INSERT INTO audit_entry/.test(sql) ? slow : env.DB.prepare(sql)),
    });
    const context = createExecutionContext();
    const request = new Request(`${ORIGIN}/oauth2/v1/token`, tokenRequest({ ...client, clientSecret: "wrong" }));
    expect((await createApp(createDeps({ ...env, DB: db })).fetch(request, env, context)).status).toBe(401);
    written.resolve([]);
    await waitOnExecutionContext(context);
  });

  // shows: oauth/access-tokens/checked-without-i-o
  it("is one statement for a bearer token in a fresh isolate, then none", async () => {
    const headers = { authorization: `Bearer ${await tokenFor(client)}` };
    const isolate = freshIsolate();
    const ask = async () => (await isolate.fetch("/admin/v1/roles", { headers })).status;
    expect(await ask()).toBe(403);
    expect(isolate.tally).toMatchObject({ d1Statements: 1, d1RoundTrips: 1 });
    isolate.reset();
    for (let n = 0; n < 5; n++) expect(await ask()).toBe(403);
    expect(isolate.tally).toEqual(NOTHING);
  });

  // shows: oauth/access-tokens/tokeninfo-userinfo-introspect
  it("is one statement for each tokeninfo", async () => {
    const token = await tokenFor(client);
    const isolate = freshIsolate();
    for (let n = 0; n < 3; n++) {
      isolate.reset();
      expect((await isolate.fetch(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(200);
      expect(isolate.tally).toEqual({ ...NOTHING, d1Statements: 1, d1RoundTrips: 1, d1RowsRead: expect.any(Number) });
    }
  });

  it("is nothing for a tokeninfo of a made-up, forged or expired token, while the keys are known", async () => {
    const token = await tokenFor(client);
    const isolate = freshIsolate();
    const ask = (asked: string) => isolate.fetch(`/oauth2/v1/tokeninfo?access_token=${asked}`);
    expect((await ask(token)).status).toBe(200);
    isolate.reset();
    const [head, , signature] = token.split(".");
    const forged = `${head}.${btoa(JSON.stringify({ jti: "x" })).replaceAll("=", "")}.${signature}`;
    for (const madeUp of ["x", "a.b.c", forged]) expect((await ask(madeUp)).status).toBe(400);
    expect(isolate.tally).toMatchObject({ d1RowsRead: 0, d1RoundTrips: 0, d1Statements: 0 });
  });

  // shows: oauth/access-tokens/tokeninfo-userinfo-introspect
  it("is one statement for userinfo and introspection, once the caller is cached", async () => {
    const flow = await makeFlow();
    const { clientId, clientSecret = "" } = flow.client;
    const { access_token: token } = await signIn(flow);
    const isolate = freshIsolate();
    const userInfo = { headers: { authorization: `Bearer ${token}` } };
    const introspection = {
      method: "POST",
      headers: {
        authorization: basic({ clientId, clientSecret }),
        "content-type": "application/x-www-form-urlencoded",
      },
      body: `token=${token}`,
    };
    for (const [path, init] of [
      ["/oauth2/v1/userinfo", userInfo],
      ["/oauth2/v1/introspect", introspection],
    ] as const) {
      await isolate.fetch(path, init);
      for (let n = 0; n < 3; n++) {
        isolate.reset();
        expect((await isolate.fetch(path, init)).status).toBe(200);
        expect(isolate.tally, path).toEqual({
          ...NOTHING,
          d1Statements: 1,
          d1RoundTrips: 1,
          d1RowsRead: expect.any(Number),
        });
      }
    }
  });
});

describe("The cost of a person who signs in", () => {
  it.each([
    { home: 0, trips: 4 },
    { home: 1, trips: 4 },
  ])(
    "is $trips round trips and 11 rows from the form to the code, 2 and 4 for a refresh token: shard $home",
    async ({ home, trips }) => {
      const app = await makeApp({ confidential: false });
      const user = await makeUser({ tenant: app.tenant, home });
      const hash = hashPassword(user.password, systemRandom);
      await env.DB.prepare("UPDATE user SET password_hash = ?2 WHERE email = ?1").bind(user.email, hash).run();
      const { env: counted, tally, reset } = counting(env);
      const own = isolateOf(counted);
      const token = (form: Record<string, string>) =>
        own.fetch("/oauth2/v1/token", {
          method: "POST",
          body: new URLSearchParams({ client_id: app.clientId, ...form }),
        });
      for (let time = 0; time < 2; time++) {
        const browser = new Browser({ send: (at, init) => own.fetch(at.slice(ORIGIN.length), toInit(init)) });
        const page = await visit(browser, app, { code_challenge: CHALLENGE, code_challenge_method: "S256" });
        reset();
        const code = landed(await browser.submit(page, { ...user })).query.get("code") ?? "";
        const form = { grant_type: "authorization_code", redirect_uri: app.redirectUri, code, code_verifier: VERIFIER };
        const redeemed = await token(form);
        // The isolate's first token also reads the signing keys.
        if (time === 1) expect(tally).toMatchObject({ d1RoundTrips: trips, d1RowsWritten: 11, auditRows: 0 });
        reset();
        const { refresh_token } = await expectJson<{ refresh_token: string }>(redeemed, 200);
        expect((await token({ grant_type: "refresh_token", refresh_token })).status).toBe(200);
        expect(tally).toMatchObject({ d1RoundTrips: 2, d1RowsWritten: 4, auditRows: 0 });
      }
    },
  );
});

describe("The log of a deployment", () => {
  /** What Cloudflare bills: lines, and a line for each invocation unless that is turned off. */
  const linesOf = async (own: Partial<Env>, ask: (own: Isolate) => Promise<Response>): Promise<string[]> => {
    const said: string[] = [];
    const spies = (["debug", "info", "warn", "error", "log"] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation((line) => void said.push(String(line))),
    );
    expect((await ask(isolateOf(own))).status).toBe(200);
    for (const spy of spies) spy.mockRestore();
    return said;
  };
  const [text = ""] = Object.values(
    (import.meta as unknown as Glob).glob("../../wrangler.toml", { query: "?raw", import: "default", eager: true }),
  );
  const settings = parse(text) as {
    readonly vars: { readonly LOG_LEVEL: string };
    readonly observability: { readonly logs: object };
  };
  const asDeployed = { LOG_LEVEL: settings.vars.LOG_LEVEL };

  it("has no line for a token, a check of one or an answered request, and none for an invocation", async () => {
    expect(settings.observability.logs).toMatchObject({ enabled: true, invocation_logs: false });
    expect(await linesOf(asDeployed, (own) => own.token(client))).toEqual([]);
    const token = await tokenFor(client);
    expect(await linesOf(asDeployed, (own) => own.fetch(`/oauth2/v1/tokeninfo?access_token=${token}`))).toEqual([]);
    const headers = { authorization: `Bearer ${token}` };
    expect(await linesOf(asDeployed, (own) => own.fetch("/pubsub/v1/topics", { headers }))).toEqual([]);
  });

  it("has a line for each token at the level debug, and where the caller names its session", async () => {
    const named = { ...tokenRequest(client), body: "grant_type=client_credentials&plat-session-id=s1" };
    for (const lines of [
      await linesOf({ LOG_LEVEL: "debug" }, (own) => own.token(client)),
      await linesOf(asDeployed, (own) => own.fetch("/oauth2/v1/token", named)),
    ])
      expect(lines).toEqual([expect.stringContaining('"event":"token issued"')]);
  });
});

describe("If D1 does not respond", () => {
  // shows: oauth/access-tokens/d1-silent-for-60-s
  it("tokens are accepted for 60 s from the copy at hand, then the response is 503", async () => {
    const headers = { authorization: `Bearer ${await tokenFor(client)}` };
    let broken = false;
    const away = () => Promise.reject(new Error("D1 is away"));
    const dead: object = { bind: () => dead, all: away, first: away, run: away };
    const db = directoryWith({
      prepare: (sql) => (broken ? dead : env.DB.prepare(sql)),
      batch: (statements) => (broken ? away() : env.DB.batch(statements)),
    });
    const app = createApp(createDeps({ ...env, DB: db, LOG_LEVEL: "error" }));
    const fetch = (path: string) =>
      app.fetch(new Request(new URL(path, ORIGIN), { headers }), env, createExecutionContext());
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    vi.useFakeTimers({ toFake: ["Date"] });
    const startMs = Date.now();
    expect((await fetch("/admin/v1/roles")).status).toBe(403);
    broken = true;
    vi.setSystemTime(startMs + 59_000);
    expect((await fetch("/admin/v1/roles")).status).toBe(403);
    const token = new Request(new URL("/oauth2/v1/token", ORIGIN), tokenRequest(await makeClient()));
    const refusedToken = await app.fetch(token, env, createExecutionContext());
    expect(refusedToken.status).toBe(503);
    expect(await refusedToken.json()).toMatchObject({ error: "temporarily_unavailable" });
    expect((await fetch("/oauth2/v1/jwks")).status).toBe(200);
    const info = await fetch(`/oauth2/v1/tokeninfo?access_token=${headers.authorization.slice(7)}`);
    expect(info.status).toBe(503);
    vi.setSystemTime(startMs + 61_000);
    const refused = await fetch("/admin/v1/roles");
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toMatch(/^([5-9]|10)$/);
    expect(await refused.json()).toMatchObject({ type: "service_temporarily_unavailable" });
    expect(errors).toHaveBeenCalled();
    errors.mockRestore();
    vi.useRealTimers();
  });
});
