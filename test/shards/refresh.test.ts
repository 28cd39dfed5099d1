import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Browser, toInit } from "../support/browser.ts";
import { tablesOf } from "../support/explain.ts";
import { isolate, type Isolate } from "../support/isolate.ts";
import { casesOf, strideOf } from "../support/model-runs.ts";
import { CHALLENGE, VERIFIER } from "../oauth/support/code.ts";
import { watched, WatchedMoves, type Sent } from "../support/moving.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { shardDb } from "../support/shards.ts";
import { makeApp, visit, type TestApp } from "../support/sign-in.ts";
import { makeUser, type TestUser } from "../support/users.ts";

/**
 * Sign-ins while their tenant moves. A move copies, switches and removes the tenant's files. Between any two of its
 * calls of a database, and after a run that broke off, people sign in, redeem codes and refresh their tokens, and
 * clients get tokens. Their answers are those of before the move.
 */
const [FROM, TO] = [1, 2];

let tenant: string;
let client: TestClient;
beforeEach(async () => {
  tenant = await makeTenantIn(FROM);
  client = await makeClient({ tenant });
  await storeFiles();
});
afterEach(() => void vi.restoreAllMocks());

/** What moves: a committed file with metadata, and one that waits for its commit. */
async function storeFiles(): Promise<void> {
  const token = await tokenFor(client);
  const headers = { "content-type": "text/plain" };
  for (const isCommitted of [true, false]) {
    const created = await call("/media/v2/files", { token, json: { "Content-Type": "text/plain" } });
    const { uploadLink, commitLink } = await expectJson(created, 200);
    expect((await call(uploadLink, { method: "PUT", body: "x", headers })).status).toBe(200);
    if (isCommitted) expect((await call(commitLink, { token, json: { title: "x" } })).status).toBe(202);
  }
}

interface Tokens {
  readonly access_token: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
}

/** Claims that differ from token to token, and from sign-in to sign-in. */
const OWN_CLAIMS = new Set([
  "iat",
  "exp",
  "nbf",
  "jti",
  "auth_time",
  "auth_ms",
  "asof",
  "user_asof",
  "sid",
  "gid",
  "at_hash",
]);

/** An answer of `/token` without what differs from one to the next, and its tokens. */
async function readTokens(response: Response) {
  const body = await response.json<Tokens>();
  const claimsOf = (token: string | undefined) =>
    token === undefined
      ? undefined
      : Object.fromEntries(Object.entries(decodeJwt(token)).filter(([name]) => !OWN_CLAIMS.has(name)));
  const { access_token, id_token, refresh_token, ...rest } = body;
  const answer = { status: response.status, ...rest, access: claimsOf(access_token), id: claimsOf(id_token) };
  return { answer: { ...answer, hasRefreshToken: refresh_token !== undefined }, refreshToken: refresh_token ?? "" };
}

const tokenBy = async (fetch: Isolate["fetch"], form: Record<string, string>, of: TestClient) =>
  readTokens(
    await fetch("/oauth2/v1/token", {
      method: "POST",
      body: new URLSearchParams(of.clientSecret === "" ? { client_id: of.clientId, ...form } : form),
      headers: of.clientSecret === "" ? {} : { authorization: basic(of) },
    }),
  );

/** Somebody who is signed in at an app, which holds a refresh token and a code of theirs. */
class Person {
  readonly #fetch: Isolate["fetch"];
  readonly #user: TestUser;
  readonly #app: TestApp;
  #refreshToken = "";
  #code = "";

  constructor(fetch: Isolate["fetch"], user: TestUser, app: TestApp) {
    this.#fetch = fetch;
    this.#user = user;
    this.#app = app;
  }

  async come(): Promise<this> {
    await this.#signIn();
    this.#refreshToken = (await this.#redeem()).refreshToken;
    await this.#signIn();
    return this;
  }

  /** Uses the refresh token and the code, and signs in anew for the next code. Returns what was answered. */
  async goOn(): Promise<unknown> {
    const redeemed = await this.#redeem();
    const form = { grant_type: "refresh_token", refresh_token: this.#refreshToken };
    const refreshed = await tokenBy(this.#fetch, form, this.#app);
    const isSame = refreshed.refreshToken === this.#refreshToken;
    this.#refreshToken = refreshed.refreshToken;
    return { redeemed: redeemed.answer, refreshed: refreshed.answer, isSame, signedIn: await this.#signIn() };
  }

  async #signIn() {
    const browser = new Browser({ send: (address, init) => this.#fetch(address, toInit(init)) });
    const challenge = { code_challenge: CHALLENGE, code_challenge_method: "S256" };
    const page = await visit(browser, this.#app, { scope: "openid plat.media_view", ...challenge });
    const { status, location } = await browser.submit(page, { ...this.#user });
    const { origin, pathname, searchParams } = new URL(location ?? "about:blank");
    this.#code = searchParams.get("code") ?? "";
    return { status, to: origin + pathname, given: [...searchParams.keys()] };
  }

  #redeem() {
    const sent = { code: this.#code, redirect_uri: this.#app.redirectUri, code_verifier: VERIFIER };
    return tokenBy(this.#fetch, { grant_type: "authorization_code", ...sent }, this.#app);
  }
}

const SIGNED_IN = { redeemed: { status: 200 }, refreshed: { status: 200 }, signedIn: { status: 303 } };

/**
 * People with their home in each of these shards, at an app that is confidential or not: it gets a new refresh token
 * each time then. All of them, and a client, get tokens by the function that this returns.
 */
async function usersOf(homes: readonly number[], confidential: boolean, { fetch }: Isolate = isolate()) {
  const app = await makeApp({ tenant, confidential });
  const people: Person[] = [];
  for (const home of homes) people.push(await new Person(fetch, await makeUser({ tenant, home }), app).come());
  return async (): Promise<unknown> => {
    const answers: unknown[] = [(await tokenBy(fetch, { grant_type: "client_credentials" }, client)).answer];
    for (const person of people) answers.push(await person.goOn());
    return answers;
  };
}

/** Statements for the rows on which the sign-ins of a shard stand: all belong to the tenant `~`. */
const STANDS = /^\s*INSERT INTO (organization|tenant|client|user)\b/;
/** The directory has the originals of these, which a move reads. Shards have copies. */
const ORIGINALS = new Set(["organization", "tenant"]);

/** Tables that a move writes, and statements of sign-ins that open one of them. */
async function sharedTables(moves: Sent, signIns: Sent) {
  const written = new Set<string>();
  for (const [shard, statements] of moves)
    for (const sql of statements) for (const table of (await tablesOf(shardDb(shard), sql)).written) written.add(table);
  const shared: string[] = [];
  for (const [shard, statements] of signIns)
    for (const sql of statements)
      for (const table of (await tablesOf(shardDb(shard), sql)).opened)
        if (written.has(table) && !(shard === 0 ? ORIGINALS.has(table) : STANDS.test(sql)))
          shared.push(`${table} of shard ${shard} in ${sql}`);
  return { written, shared };
}

describe("while a tenant moves", () => {
  // shows: operator/shards/tenant-move-sign-ins
  it("sign-ins, codes, refresh tokens and tokens of clients are as before, between any two calls of the move", async () => {
    const signIns = watched();
    const ask = await usersOf([FROM, TO], false, isolate(signIns.bindings));
    const before = await ask();
    expect(before).toMatchObject([{ status: 200 }, SIGNED_IN, SIGNED_IN]);
    let [calls, isAsking] = [0, false];
    const moves = new WatchedMoves(tenant, async () => {
      // One after the other: a refresh token is used once.
      expect(isAsking).toBe(false);
      isAsking = true;
      expect([++calls, await ask()]).toEqual([calls, before]);
      isAsking = false;
    });
    for (const to of casesOf([TO, 0, FROM], 1)) {
      await moves.to(to);
      expect(await placeOf(tenant)).toBe(to);
    }
    expect(calls).toBeGreaterThan(25);
    expect(await ask()).toEqual(before);
    const { written, shared } = await sharedTables(moves.sent, signIns.sent);
    for (const table of [
      "file",
      "owner",
      "variant",
      "attribute",
      "moved_file",
      "tenant_move",
      "tenant_shard",
      "tenant",
    ])
      expect(written).toContain(table);
    for (const shard of [0, FROM, TO]) expect(signIns.sent.get(shard)!.size).toBeGreaterThan(3);
    expect(shared).toEqual([]);
  });

  it("they are as before where a run of the move broke off", async () => {
    const ask = await usersOf([FROM, TO], true);
    const before = await ask();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const moves = new WatchedMoves(tenant);
    // The first three calls begin the move.
    let at = 3;
    for (let to = TO; await moves.breaking(to, at); to = FROM + TO - to, at += strideOf(17)) {
      expect(await ask()).toEqual(before);
      await moves.rest();
      expect(await placeOf(tenant)).toBe(to);
      expect(await ask()).toEqual(before);
    }
    expect(at).toBeGreaterThan(20);
  });
});
