import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { randomId, systemRandom } from "../../../src/platform/runtime/random.ts";
import { shardBinding, shardsOf } from "../../../src/platform/storage/shards.ts";
import { Browser, landed, toInit } from "../../support/browser.ts";
import { atEachCall } from "../../support/each-call.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { casesOf, modelRuns, strideOf } from "../../support/model-runs.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, shardDb } from "../../support/shards.ts";
import { makeApp, visit } from "../../support/sign-in.ts";
import { checkElsewhere, sweptAt } from "../../support/sweep.ts";
import { makeUser } from "../../support/users.ts";
import * as fc from "fast-check";
import { errorOf, isLiving } from "../support/answers.ts";
import { codeFor, VERIFIER } from "../support/code.ts";
import { makePublicFlow, REDIRECT, registration, type Flow } from "../support/flow.ts";
import { redeem, refresh, signIn, type Tokens } from "../support/token-requests.ts";
import { grantsOf } from "./support.ts";

/**
 * Refresh grants of a person whose home is not the directory. Each operation crashes at each of its database calls,
 * before the call or with its response lost. Then the caller repeats the request, as users do.
 */
afterEach(() => {
  vi.useRealTimers();
});

const livingOf = (email: string) =>
  everywhere
    .prepare(
      `SELECT count(*) AS n FROM refresh_token JOIN refresh_grant ON refresh_grant.id = grant_id
       WHERE email = ? AND used_at IS NULL`,
    )
    .bind(email)
    .first<number>("n");

type Fetch = Isolate["fetch"];
const here: Fetch = isolate().fetch;

const token = (fetch: Fetch, flow: Flow, form: Record<string, string>) =>
  fetch("/oauth2/v1/token", {
    method: "POST",
    body: new URLSearchParams({ client_id: flow.client.clientId, ...form }),
  });
const redeemBy = (fetch: Fetch, flow: Flow, code: string) =>
  token(fetch, flow, { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: VERIFIER });
const refreshBy = (fetch: Fetch, flow: Flow, held: string) =>
  token(fetch, flow, { grant_type: "refresh_token", refresh_token: held });
const operateBy = async (fetch: Fetch, method: string, path: string, json?: object): Promise<Response> => {
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
  return fetch(`/admin/v1/${path}`, { method, headers, ...(json && { body: JSON.stringify(json) }) });
};

describe("A break between two databases", () => {
  // shows: operator/shards/grants-crash
  it("leaves no grant of a code that gave no tokens, and no tokens without a grant", async () => {
    const calls = await atEachCall(async (breaking) => {
      const flow = await makePublicFlow({}, 1);
      const code = await codeFor(flow, { authorization: { sessionId: unique("s") } });
      const first = await redeemBy(breaking(), flow, code);
      if (first.status === 200) {
        const tokens = await first.json<Tokens>();
        expect((await refresh(flow.client, tokens.refresh_token)).status).toBe(200);
        return;
      }
      expect(first.status).toBe(503);
      const redeemed = await everywhere
        .prepare("SELECT redemption FROM authorization_code WHERE email = ?")
        .bind(flow.email)
        .first("redemption");
      expect(await grantsOf(flow.email)).toBe(redeemed === null ? 0 : 1);
      const again = await redeem(flow.client, code);
      if (again.status === 200) {
        const tokens = await again.json<Tokens>();
        expect((await refresh(flow.client, tokens.refresh_token)).status).toBe(200);
        expect(await grantsOf(flow.email)).toBe(1);
      } else {
        // The response was lost after the code was redeemed, so the person has to sign in again.
        expect(await errorOf(again)).toBe("invalid_grant");
        expect(await grantsOf(flow.email)).toBe(0);
      }
    });
    expect(calls).toBeGreaterThan(4);
  }, 120_000);

  it("leaves no grant of a code that was refused, and no code that gives tokens twice", async () => {
    await atEachCall(async (breaking) => {
      const flow = await makePublicFlow({}, 1);
      const code = await codeFor(flow, { authorization: { sessionId: unique("s") } });
      const member = `tenants/${flow.tenant}/members/${flow.email}`;
      expect((await operateBy(here, "DELETE", member)).status).toBe(204);
      expect((await redeemBy(breaking(), flow, code)).status).toBeGreaterThanOrEqual(400);
      expect((await operateBy(here, "PUT", member, { roles: [flow.role] })).status).toBe(201);
      // The code is lost if it could not be given back. Then the person has to sign in again.
      const { status } = await redeem(flow.client, code);
      expect([200, 400]).toContain(status);
      expect(await grantsOf(flow.email)).toBe(status === 200 ? 1 : 0);
      expect((await redeem(flow.client, code)).status).toBe(400);
      expect(await grantsOf(flow.email)).toBe(0);
    });
  }, 120_000);

  // shows: operator/shards/sign-ins-crash
  it("signs a person in, or not: the form that is sent again does", async () => {
    const calls = await atEachCall(async (breaking) => {
      const user = await makeUser({ home: 1 });
      const app = await makeApp({ tenant: user.tenant });
      let fetch = here;
      const browser = new Browser({ send: (address, init) => fetch(address, toInit(init)) });
      const page = await visit(browser, app);
      fetch = breaking();
      let answer = await browser.submit(page, { email: user.email, password: user.password });
      fetch = here;
      if (answer.status >= 500) answer = await browser.submit(page, { email: user.email, password: user.password });
      const form = { grant_type: "authorization_code", code: landed(answer).query.get("code") ?? "" };
      const body = new URLSearchParams({ ...form, redirect_uri: app.redirectUri });
      const headers = { authorization: basic(app) };
      expect((await here("/oauth2/v1/token", { method: "POST", headers, body })).status).toBe(200);
      expect(landed(await visit(browser, app, { prompt: "none" })).query.get("code")).not.toBeNull();
      expect(await grantsOf(user.email)).toBe(1);
    });
    expect(calls).toBeGreaterThan(2);
  }, 240_000);

  const pushedStories = [
    ["a code in the directory", 0, "authorization_code", "code"],
    ["a code in another shard", 1, "authorization_code", "code"],
    ["tokens", 1, "implicit", "token id_token"],
  ] as const;
  // shows: oauth/pushed-authorization-requests/after-a-failure
  it.each(pushedStories)(
    "uses a pushed request up with its answer, %s, and not before",
    async (_, home, grantType, responseType) => {
      const isCode = grantType === "authorization_code";
      // Many runs have to begin again only if the request is used up too early. The lost answer to its last call is one.
      let lost = 0;
      await atEachCall(
        async (breaking) => {
          const user = await makeUser({ home });
          const app = await makeApp({ tenant: user.tenant, grantTypes: [grantType] });
          const wish = { response_type: responseType, redirect_uri: app.redirectUri, scope: "openid", nonce: "n" };
          const headers = { authorization: basic(app) };
          const push = { method: "POST", headers, body: new URLSearchParams(wish) };
          const { request_uri } = await expectJson<{ request_uri: string }>(await here("/oauth2/v1/par", push), 201);
          let fetch = here;
          const browser = new Browser({ send: (address, init) => fetch(address, toInit(init)) });
          const query = new URLSearchParams({ client_id: app.clientId, request_uri });
          const page = await browser.get(`${ORIGIN}/oauth2/v1/authorize?${query.toString()}`);
          const credentials = { email: user.email, password: user.password };
          fetch = breaking();
          let answer = await browser.submit(page, credentials);
          fetch = here;
          if (answer.status >= 500) answer = await browser.submit(page, credentials);
          if (answer.status === 400) lost++;
          else
            expect(landed(answer)[isCode ? "query" : "fragment"].get(isCode ? "code" : "access_token")).not.toBeNull();
          expect((await browser.submit(page, credentials)).status).toBe(400);
        },
        strideOf(isCode ? 1 : 3),
      );
      expect(lost).toBeLessThanOrEqual(isCode && home === 0 ? 0 : 1);
    },
    240_000,
  );

  it("tells each client of a logout, with one id, however often it breaks off on the way to the directory", async () => {
    const calls = await atEachCall(async (breaking) => {
      const flow = await makePublicFlow({}, 2);
      const address = `https://${unique("rp")}.example.com/logout`;
      await put(`clients/${flow.client.clientId}`, {
        ...registration(flow.tenant, { confidential: false }),
        backchannelLogoutUri: address,
      });
      await answerAt(address, { status: 204 });
      const sid = randomId(systemRandom);
      await codeFor(flow, { authorization: { sessionId: sid } });
      const told = `INSERT INTO session_client (sid, client, session, email, subject, issuer) VALUES (?1, ?2, ?1, ?3, 's', 'https://i.example')`;
      await shardDb(2).prepare(told).bind(sid, flow.client.clientId, flow.email).run();
      await shardDb(2).prepare("DELETE FROM session WHERE email = ?").bind(flow.email).run();
      // A cookie of a session of this shard that is over: the drain beside the answer breaks off.
      const cookie = `__Host-plat_session=Ag${"A".repeat(42)}~a~b~c`;
      await breaking()("/oauth2/v1/end_session", { headers: { cookie } });
      const { oauth } = createDeps(env);
      await oauth.tellClients();
      await everywhere.prepare("UPDATE logout_notice SET next_at = 0").run();
      await oauth.tellClients();
      const ids = (await requestsTo(address)).map(
        ({ body }) => decodeJwt(new URLSearchParams(body).get("logout_token")!).jti,
      );
      expect(new Set(ids).size).toBe(1);
      const left = everywhere.prepare("SELECT count(*) AS n FROM logout_notice WHERE client = ?");
      expect(await left.bind(flow.client.clientId).first("n")).toBe(0);
    });
    expect(calls).toBeGreaterThan(3);
  }, 120_000);

  it("uses a refresh token once: the same token gives the same successor after a lost answer", async () => {
    await atEachCall(async (breaking) => {
      const flow = await makePublicFlow({}, 2);
      const { refresh_token } = await signIn(flow, { authorization: { sessionId: unique("s") } });
      const first = await refreshBy(breaking(), flow, refresh_token);
      const answer = first.status === 200 ? first : await refresh(flow.client, refresh_token);
      const next = (await expectJson<Tokens>(answer, 200)).refresh_token;
      expect(await livingOf(flow.email)).toBe(1);
      expect((await refresh(flow.client, next)).status).toBe(200);
    });
  }, 120_000);

  it("keeps the token of a person who may have no tokens now", async () => {
    await atEachCall(async (breaking) => {
      const flow = await makePublicFlow({}, 2);
      const { refresh_token } = await signIn(flow, { authorization: { sessionId: unique("s") } });
      const member = `tenants/${flow.tenant}/members/${flow.email}`;
      expect((await operateBy(here, "DELETE", member)).status).toBe(204);
      await refreshBy(breaking(), flow, refresh_token);
      expect((await operateBy(here, "PUT", member, { roles: [flow.role] })).status).toBe(201);
      // The same token works again for 30 s, as after every lost response.
      expect((await refresh(flow.client, refresh_token)).status).toBe(200);
      expect(await livingOf(flow.email)).toBe(1);
    });
  }, 120_000);

  const ENDS: Record<string, (fetch: Fetch, flow: Flow, held: Tokens, sid: string) => Promise<Response>> = {
    // In an order of what npm test has time for.
    "all that a person deletes": (fetch, _, { access_token }) =>
      fetch("/oauth2/v1/refreshtokens", { method: "DELETE", headers: { authorization: `Bearer ${access_token}` } }),
    "a client": (fetch, { client }) => operateBy(fetch, "POST", `clients/${client.clientId}/revoke`),
    "a session": (fetch, _, __, sid) => operateBy(fetch, "POST", `sessions/${sid}/revoke`),
    "a revoked token": (fetch, flow, { refresh_token }) =>
      fetch("/oauth2/v1/revoke", {
        method: "POST",
        body: new URLSearchParams({ token: refresh_token, client_id: flow.client.clientId }),
      }),
    "a grant that its person deletes": (fetch, _, { access_token }) =>
      fetch(`/oauth2/v1/refreshtokens/${decodeJwt<{ gid: string }>(access_token).gid}`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${access_token}` },
      }),
    "a person": (fetch, { email }) => operateBy(fetch, "POST", `users/${email}/revoke`),
    "a tenant": (fetch, { tenant }) => operateBy(fetch, "POST", `tenants/${tenant}/revoke`),
    "a removed person": (fetch, { email }) => operateBy(fetch, "DELETE", `users/${email}`),
    "a removed client": (fetch, { client }) => operateBy(fetch, "DELETE", `clients/${client.clientId}`),
    "a person who is signed out": (fetch, { email }) => operateBy(fetch, "PUT", `users/${email}`, { disabled: true }),
  };
  /** The operations that end sessions too. */
  const SIGN_OUTS = new Set(["a session", "a person", "a removed person", "a person who is signed out"]);
  const countOf = (table: string, { email }: Flow) =>
    everywhere.prepare(`SELECT count(*) AS n FROM ${table} WHERE email = ?`).bind(email).first("n");
  it.each(casesOf(Object.entries(ENDS), 2))(
    "ends %s when it is asked for again: nothing of it gives anything",
    async (what, end) => {
      await atEachCall(async (breaking) => {
        const flow = await makePublicFlow({}, 3);
        const sid = randomId(systemRandom);
        const held = await signIn(flow, { authorization: { sessionId: sid } });
        const told = `INSERT INTO session_client (sid, client, session, email, subject, issuer) VALUES (?1, ?2, ?1, ?3, 's', 'https://i.example')`;
        await shardDb(3).prepare(told).bind(sid, flow.client.clientId, flow.email).run();
        let answer = await end(breaking(), flow, held, sid);
        if (answer.status >= 500) answer = await end(here, flow, held, sid);
        // The repeated request may find its work done, and its own token revoked.
        expect([200, 204, 401, 404]).toContain(answer.status);
        expect(await isLiving(held.access_token)).toBe(false);
        expect((await refresh(flow.client, held.refresh_token)).status).toBeGreaterThanOrEqual(400);
        // The caller's token is revoked with the rest, so the sweep has to finish the work.
        if (answer.status === 401) await checkElsewhere(shardsOf(env), sweptAt(sid, Date.now()));
        expect(await grantsOf(flow.email)).toBe(0);
        if (SIGN_OUTS.has(what))
          expect([await countOf("session", flow), await countOf("session_client", flow)]).toEqual([0, 0]);
      }, strideOf(5));
    },
    300_000,
  );
});

/** An isolate whose database calls take the given delays, in ms. */
function slow(delays: readonly number[]): Isolate {
  let at = 0;
  const pause = () => scheduler.wait(delays[at++ % delays.length]!);
  const bindings = shardsOf(env).map(({ number, db }) => {
    const wrap = (statement: D1PreparedStatement): D1PreparedStatement =>
      new Proxy(statement, {
        get(target, name) {
          const method = Reflect.get(target, name, target) as (...args: unknown[]) => Promise<unknown>;
          if (name === "bind") return (...args: unknown[]) => wrap(target.bind(...args));
          if (name === REAL) return target;
          return async (...args: unknown[]) => (await pause(), method.apply(target, args));
        },
      });
    const slowDb = {
      prepare: (sql: string) => wrap(db.prepare(sql)),
      batch: async (statements: D1PreparedStatement[]) => {
        await pause();
        return db.batch(statements.map((one) => (one as unknown as { [REAL]?: D1PreparedStatement })[REAL] ?? one));
      },
    };
    return [shardBinding(number), slowDb] as const;
  });
  return isolate(Object.fromEntries(bindings));
}
const REAL = Symbol("real statement");

describe("Requests at the same time, in any order of their calls", () => {
  // shows: operator/shards/grants-races
  it("leave nothing of what was revoked: neither a token of before nor a grant", async () => {
    const kinds = ["clients", "tenants", "users", "sessions"] as const;
    const schedule = fc.record({
      kind: fc.constantFrom(...kinds),
      delays: fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 30 }),
      after: fc.integer({ min: 0, max: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(schedule, async ({ kind, delays, after }) => {
        const flow = await makePublicFlow({}, 1);
        const sid = unique("s");
        const of = { authorization: { sessionId: sid } };
        const [held, code] = [await signIn(flow, of), await codeFor(flow, of)];
        const key = { clients: flow.client.clientId, tenants: flow.tenant, users: flow.email, sessions: sid }[kind];
        const { fetch } = slow(delays);
        const given: Tokens[] = [held];
        const note = async (answer: Response): Promise<void> => {
          if (answer.status === 200) given.push(await answer.json<Tokens>());
        };
        const work = [
          refreshBy(fetch, flow, held.refresh_token).then(note),
          (async () => {
            const answer = await redeemBy(fetch, flow, code);
            if (answer.status !== 200) return;
            const tokens = await answer.json<Tokens>();
            given.push(tokens);
            await note(await refreshBy(fetch, flow, tokens.refresh_token));
          })(),
          (async () => {
            await scheduler.wait(after);
            expect((await operateBy(fetch, "POST", `${kind}/${key}/revoke`)).status).toBe(204);
          })(),
        ];
        await Promise.all(work);
        for (const { access_token, refresh_token } of given) {
          expect(await isLiving(access_token)).toBe(false);
          expect((await refresh(flow.client, refresh_token)).status).toBe(400);
        }
        expect(await grantsOf(flow.email)).toBe(0);
      }),
      modelRuns("GRANT_RUNS", 4),
    );
  }, 600_000);
});
