import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import { WAITS } from "../../tools/bench/shards/waits.ts";
import { CHALLENGE, VERIFIER } from "../oauth/support/code.ts";
import { Browser, landed, toInit } from "../support/browser.ts";
import { counting, inRounds, type Place } from "../support/counting.ts";
import { expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { makeServiceWithCustomer } from "../support/platform/services.ts";
import { makeTenantIn } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { makeApp, requestFor } from "../support/sign-in.ts";
import { makeUser } from "../support/users.ts";

/** Copies of an isolate are old after 5 s without a request, those of clients and tenants after 30 s. */
const OLD_MS = 31_000;
/** A shard other than the directory, so that the waits for each can be told apart. */
const SHARD = 1;

/** Sends a request, and notes how often it waits. Work after the response does not count. */
type Ask = (operation: string, address: string, init: RequestInit, status: number) => Promise<Response>;

const withJson = (token: string, body: unknown) => ({
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: JSON.stringify(body),
});

async function liveOfAFile(ask: Ask, { tenant }: TestClient, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const created = await ask("create a file", "/media/v2/files", withJson(token, { "Content-Type": "text/plain" }), 200);
  const { id, uploadLink, commitLink } = await expectJson(created, 200);
  const upload = { method: "PUT", body: "x", headers: { "content-type": "text/plain", "content-length": "1" } };
  await ask("upload its bytes", uploadLink, upload, 200);
  await ask("commit it", commitLink, withJson(token, {}), 202);
  await ask("a page of a list", `/media/v2/files?tenant=${tenant}`, { headers }, 200);
  const link = await ask("link to a private file", `/media/v2/files/${id}`, { headers, redirect: "manual" }, 200);
  await ask("its content", (await expectJson(link, 200)).link, {}, 200);
  await ask("delete a file", `/media/v2/files/${id}`, { method: "DELETE", headers }, 204);
}

async function liveOfAnEvent(ask: Ask, { clientId }: TestClient, token: string, eventType: string): Promise<void> {
  const topic = `/pubsub/v1/topics/${clientId}/${eventType}`;
  await ask("publish an event", `${topic}/publish`, withJson(token, { payload: "x" }), 201);
  const read = await ask("read events", `${topic}/read`, withJson(token, { numEvents: 1 }), 200);
  await ask("commit them", `${topic}/commit`, withJson(token, { token: (await expectJson(read, 200)).token }), 200);
}

async function liveOfASignIn(
  ask: Ask,
  app: Awaited<ReturnType<typeof makeApp>>,
  user: { readonly email: string; readonly password: string },
): Promise<void> {
  let operation = "sign-in page";
  let status = 200;
  const browser = new Browser({ send: (address, init) => ask(operation, address, toInit(init), status) });
  const asked = requestFor(app, { code_challenge: CHALLENGE, code_challenge_method: "S256" });
  const address = `${ORIGIN}/oauth2/v1/authorize?${new URLSearchParams(asked).toString()}`;
  const page = await browser.get(address);
  [operation, status] = ["sign-in form", 303];
  const answer = await browser.submit(page, { email: user.email, password: user.password });
  const token = async (of: string, form: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: app.clientId, ...form });
    return expectJson<Record<string, string>>(await ask(of, "/oauth2/v1/token", { method: "POST", body }, 200), 200);
  };
  const code = landed(answer).query.get("code")!;
  const redemption = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: VERIFIER };
  const { refresh_token: refresh = "" } = await token("redeem a code", redemption);
  [operation, status] = ["sign-in while signed in", 302];
  await browser.get(address);
  const { access_token: access = "" } = await token("refresh", { grant_type: "refresh_token", refresh_token: refresh });
  const headers = { authorization: `Bearer ${access}` };
  await ask("userinfo", "/oauth2/v1/userinfo", { headers }, 200);
}

/** Returns how often each operation waits for the directory, for its shard and for objects. */
async function waitsOfLives(passes: () => void): Promise<Record<string, readonly [number, number, number]>> {
  const { hold, rounds } = inRounds({ withObjects: true });
  const { env: counted } = counting(env, hold);
  const app = createApp(createDeps(counted));
  const client = await makeClient({ tenant: await makeTenantIn(SHARD) });
  const token = await tokenFor(client);
  const found: Record<string, readonly [number, number, number]> = {};
  let isWarm = false;
  const ask: Ask = async (operation, address, init, status) => {
    if (isWarm) passes();
    const before = rounds.length;
    const context = createExecutionContext();
    const response = await app.fetch(new Request(new URL(address, ORIGIN), init), counted, context);
    const waits = rounds.slice(before);
    // A round that includes the directory counts as a wait for it, since the directory is the farthest.
    const to = (is: (round: readonly Place[]) => boolean) => waits.filter(is).length;
    const isDirectory = (round: readonly Place[]) => round.includes(0);
    const isShard = (round: readonly Place[]) => !isDirectory(round) && round.some((place) => place !== "object");
    const isObject = (round: readonly Place[]) => round.every((place) => place === "object");
    found[operation] = [to(isDirectory), to(isShard), to(isObject)];
    const kept = response.clone();
    await response.arrayBuffer();
    await waitOnExecutionContext(context);
    expect([operation, kept.status]).toEqual([operation, status]);
    return kept;
  };
  const eventType = unique("type");
  await app.fetch(
    new Request(`${ORIGIN}/pubsub/v1/topics`, withJson(token, { eventType, shards: 1 })),
    counted,
    createExecutionContext(),
  );
  const service = await makeServiceWithCustomer();
  const person = await makeUser({ home: SHARD });
  const signsIn = await makeApp({ tenant: person.tenant, confidential: false });
  const live = async () => {
    // First, since a copy of a tenant's shard is read again beside an answer when it is eight minutes old.
    await liveOfAFile(ask, client, token);
    const credentials = { authorization: basic(client), "content-type": "application/x-www-form-urlencoded" };
    const form = { method: "POST", headers: credentials, body: "grant_type=client_credentials" };
    await ask("token of a service", "/oauth2/v1/token", form, 200);
    await ask("tokeninfo", `/oauth2/v1/tokeninfo?access_token=${token}`, {}, 200);
    await liveOfASignIn(ask, signsIn, person);
    await ask("through the gateway", service.path, { headers: { authorization: `Bearer ${service.token}` } }, 200);
    await liveOfAnEvent(ask, client, token, eventType);
  };
  // The first life fills the caches of the isolate: keys, clients, and the shards of tenants.
  await live();
  isWarm = true;
  await live();
  return found;
}

afterEach(() => void vi.useRealTimers());

// shows: operator/shards/waits
it("operations wait for databases and objects as often as the table of waits says", async () => {
  const fresh = await waitsOfLives(() => {});
  const stale = await waitsOfLives(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + OLD_MS });
  });
  const found = Object.entries(fresh).map(([operation, [directory, own, objects]]) => {
    const [later] = stale[operation]!;
    return { operation, directory, own, objects, stale: later - directory };
  });
  const byName = (one: { readonly operation: string }, other: { readonly operation: string }): number =>
    one.operation < other.operation ? -1 : 1;
  expect(found.toSorted(byName)).toEqual(WAITS.toSorted(byName));
});
