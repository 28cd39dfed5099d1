import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { selectSigner, keyState } from "../../../src/oauth/tokens/keys/key-life.ts";
import { createKeyRotation, type KeyRotation } from "../../../src/oauth/tokens/key-rotation.ts";
import { createKeyStore, type KeyTimes, type NewKey } from "../../../src/oauth/tokens/keys/key-store.ts";
import { SIGNING_ALGS, type SigningAlg } from "../../../src/oauth/tokens/keys/signing-key.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient, type TestClient } from "../../support/platform/clients.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { directoryWith } from "../../support/directory.ts";
import { itAtNight, runs } from "../../support/model-runs.ts";
import { quickPauses } from "../../support/quick-pauses.ts";
import { noAudit } from "./rotation.ts";

const SEC = 1000;
const MIN = 60 * SEC;
const HOUR = 60 * MIN;
const DAY = 24 * HOUR;

const store = createKeyStore(env.DB);
let made = 0;
/** Keys that are only a name: rotation does not depend on their content. */
const named = async (alg: SigningAlg): Promise<NewKey> => {
  const kid = `k${++made}`;
  return { kid, alg, publicJwk: { kid, kty: "none" }, sealedPrivateJwk: "" };
};
const rotation: KeyRotation = createKeyRotation(store, named, noAudit);
const published = async (nowMs: number, alg = "ES256"): Promise<readonly KeyTimes[]> =>
  (await store.published(nowMs)).filter((key) => key.alg === alg);
const signer = async (nowMs: number): Promise<string | undefined> =>
  selectSigner(await store.published(nowMs), "ES256", nowMs)?.kid;
const rotate = (nowMs: number, earlier: "verify" | "end" = "verify") =>
  rotation.byOperator({ actor: "plat.operator", requestId: "r", nowMs }, earlier);

/** Deletes the keys. Only for tests in which no isolate has a copy of them. */
const forgetKeys = () => env.DB.prepare("DELETE FROM signing_key").run();
afterEach(() => {
  vi.useRealTimers();
});

describe("The rotation by schedule", () => {
  beforeEach(forgetKeys);
  const START = 1_000 * DAY;

  it("makes the first keys, which sign at once, and no other for 89 days", async () => {
    await rotation.bySchedule(START);
    for (const day of [0, 1, 45, 88]) await rotation.bySchedule(START + day * DAY);
    for (const alg of SIGNING_ALGS)
      expect(await published(START + 88 * DAY, alg)).toMatchObject([
        { signsFromMs: START, publishedUntilMs: undefined },
      ]);
  });

  it("publishes the next key a day before it signs, and the previous one a day longer than it signs", async () => {
    await rotation.bySchedule(START);
    const first = await signer(START);
    const due = START + 89 * DAY;
    await rotation.bySchedule(due);
    const keys = await published(due);
    expect(keys).toHaveLength(2);
    const next = keys.find((key) => key.kid !== first)!;
    expect(next).toMatchObject({ signsFromMs: START + 90 * DAY, publishedUntilMs: undefined });
    expect(keys.map((key) => keyState(key, keys, due)).toSorted()).toEqual(["published", "signs"]);
    expect(await signer(START + 90 * DAY - 1)).toBe(first);
    expect(await signer(START + 90 * DAY)).toBe(next.kid);
    expect(await published(START + 91 * DAY - 1)).toHaveLength(2);
    expect(await published(START + 91 * DAY)).toMatchObject([{ kid: next.kid }]);
    const [shown] = (await rotation.page({ before: undefined, limit: 9, skip: 0 }, START + 91 * DAY)).filter(
      (key) => key.kid === first,
    );
    expect(shown).toMatchObject({ state: "gone" });
    await rotation.bySchedule(START + 92 * DAY);
    const left = await env.DB.prepare("SELECT count(*) AS n FROM signing_key WHERE kid = ?").bind(first!).first("n");
    expect(left).toBe(0);
  });

  it("gives a late key its day too, while the previous one goes on", async () => {
    await rotation.bySchedule(START);
    const first = await signer(START);
    const late = START + 200 * DAY;
    expect(await signer(late)).toBe(first);
    await rotation.bySchedule(late);
    expect(await signer(late + DAY - 1)).toBe(first);
    expect(await signer(late + DAY)).not.toBe(first);
  });

  it("makes one key, however many crons run at once or again", async () => {
    await Promise.all(Array.from({ length: 6 }, () => rotation.bySchedule(START)));
    expect(await published(START)).toHaveLength(1);
    const due = START + 89 * DAY;
    await Promise.all(Array.from({ length: 6 }, (_, n) => rotation.bySchedule(due + n)));
    await rotation.bySchedule(due + 5 * MIN);
    for (const alg of SIGNING_ALGS) expect(await published(due + 5 * MIN, alg)).toHaveLength(2);
  });
});

describe("The rotation by an operator", () => {
  beforeEach(forgetKeys);
  const START = 1_000 * DAY;

  // shows: operator/resources/signing-keys
  it("makes keys that sign at once, and publishes the old ones until nothing that they signed is valid", async () => {
    await rotation.bySchedule(START);
    const first = await signer(START);
    expect(await rotate(START + HOUR)).toMatchObject({ ok: true });
    expect(await signer(START + HOUR)).not.toBe(first);
    // An isolate signs from a copy that is ten minutes old at most, and a token lives an hour.
    expect(await published(START + HOUR + 10 * MIN + HOUR)).toHaveLength(2);
    expect(await published(START + HOUR + 80 * MIN)).toHaveLength(1);
  });

  it("ends earlier keys at once when one has leaked, even if there are too many for a usual rotation", async () => {
    await rotation.bySchedule(START);
    while ((await rotate(START + HOUR)).ok);
    expect(await published(START + HOUR)).toHaveLength(10);
    expect(await rotate(START + HOUR, "end")).toMatchObject({ ok: true });
    const left = await published(START + HOUR);
    expect(left).toMatchObject([{ signsFromMs: START + HOUR, publishedUntilMs: undefined }]);
    expect(await signer(START + HOUR)).toBe(left[0]!.kid);
  });

  it("overtakes a key that waits for its time: it never signs once the new ones are known", async () => {
    await rotation.bySchedule(START);
    const due = START + 89 * DAY;
    await rotation.bySchedule(due);
    await rotate(due + 23 * HOUR + 55 * MIN);
    const now = START + 90 * DAY;
    const keys = await published(now);
    const newest = keys.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    expect(await signer(now)).toBe(newest[0]!.kid);
    expect(newest.map((key) => keyState(key, keys, now))).toEqual(["signs", "verifies", "verifies"]);
    expect(await published(now + 80 * MIN)).toHaveLength(1);
    await rotation.bySchedule(now + 80 * MIN);
    expect(await published(now + 80 * MIN)).toHaveLength(1);
  });

  it("makes keys that sign even if the clock that made the previous ones was ahead", async () => {
    await rotation.bySchedule(START);
    await rotate(START - HOUR);
    const newest = (await published(START)).toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    expect(await signer(START)).toBe(newest[0]!.kid);
    expect(newest).toHaveLength(2);
  });

  it("is refused while ten are published, and works again when one is gone", async () => {
    const results = [];
    for (let n = 0; n < 12; n++) results.push(await rotate(START + n * SEC));
    expect(results.map((result) => result.ok)).toEqual([...Array.from({ length: 10 }, () => true), false, false]);
    expect(results[10]).toEqual({ ok: false, error: { retryAfterSec: 80 * 60 + 1 - 10 } });
    expect(await published(START + 12 * SEC)).toHaveLength(10);
    expect(await rotate(START + SEC + 80 * MIN)).toMatchObject({ ok: true });
  });

  it("makes as many as allowed if requested in parallel, and never more", async () => {
    for (let n = 0; n < 8; n++) await rotate(START);
    const results = await Promise.all(Array.from({ length: 6 }, () => rotate(START)));
    expect(results.filter((result) => result.ok)).toHaveLength(2);
    for (const alg of SIGNING_ALGS) expect(await published(START, alg)).toHaveLength(10);
  });
});

describe("The first key", () => {
  it("signs here too if its maker's clock was ahead", () => {
    const life = { alg: "ES256", createdAtMs: 50, signsFromMs: 50 };
    expect(selectSigner([life, { ...life, signsFromMs: 90 }], "ES256", 10)).toBe(life);
    expect(selectSigner([life], "RS256", 60)).toBeUndefined();
  });
});

describe("A rotation at any time, by anybody", () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("sign" as const), isolate: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("cron" as const), isolate: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("operator" as const), isolate: fc.nat(2) }) },
  );
  const waits = fc.constantFrom(0, SEC, 5 * MIN, 9 * MIN, 10 * MIN, 30 * MIN, HOUR, 23 * HOUR, DAY, 40 * DAY, 89 * DAY);

  it("lets every valid token verify everywhere, one key sign, and few be published", { timeout: 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(waits, step), { minLength: 5, maxLength: 25 }), async (steps) => {
        await forgetKeys();
        let nowMs = 1_000 * DAY;
        await rotation.bySchedule(nowMs);
        const copies = new Map<number, { readonly atMs: number; readonly keys: readonly KeyTimes[] }>();
        const tokens: { readonly kid: string; readonly expiresMs: number }[] = [];
        for (const [waitMs, { do: what, isolate: who }] of steps) {
          nowMs += waitMs;
          if (what === "cron") await rotation.bySchedule(nowMs);
          if (what === "operator") await rotate(nowMs);
          if (what === "sign") {
            // An isolate may sign from a copy of up to ten minutes.
            const copy = copies.get(who);
            const fresh = copy === undefined || nowMs - copy.atMs > 10 * MIN;
            const used = fresh ? { atMs: nowMs, keys: await store.published(nowMs) } : copy;
            copies.set(who, used);
            tokens.push({ kid: selectSigner(used.keys, "ES256", nowMs)!.kid, expiresMs: nowMs + HOUR });
          }
          const keys = await published(nowMs);
          const kids = keys.map((key) => key.kid);
          for (const token of tokens) if (token.expiresMs > nowMs) expect(kids).toContain(token.kid);
          expect(keys.filter((key) => keyState(key, keys, nowMs) === "signs")).toHaveLength(1);
          expect(keys.length).toBeLessThanOrEqual(11);
          for (const key of keys.filter((one) => one.signsFromMs > nowMs))
            expect(key.signsFromMs - key.createdAtMs).toBe(DAY);
        }
      }),
      { numRuns: runs(5) },
    );
  });
});

describe("GET and POST /signing-keys", () => {
  beforeAll(forgetKeys);
  let client: TestClient;
  const keys = async (query = "") => call(`/admin/v1/signing-keys${query}`, { token: await tokenFor(OPERATOR) });
  const post = async (query = "") =>
    call(`/admin/v1/signing-keys${query}`, { method: "POST", token: await tokenFor(OPERATOR) });
  const jwks = async (): Promise<JSONWebKeySet> => expectJson(await call("/oauth2/v1/jwks"), 200);
  beforeEach(async () => {
    client = await makeClient({ scopes: ["plat.media_view"] });
  });

  // shows: operator/resources/signing-keys
  it("returns 201 with both algorithms at once; earlier signatures stay valid, and verifiers find both keys", async () => {
    const before = await tokenFor(client);
    const response = await post();
    const added = await expectJson<any[]>(response, 201);
    expect(new Set(added.map((key) => key.alg))).toEqual(new Set(SIGNING_ALGS));
    for (const key of added)
      expect(key).toEqual({
        kid: expect.any(String),
        alg: expect.any(String),
        state: "signs",
        createdAt: expect.any(Number),
        signsFrom: expect.any(Number),
        publishedUntil: null,
      });
    const after = await tokenFor(client);
    expect(decodeProtectedHeader(after).kid).toBe(added.find((key) => key.alg === "ES256").kid);
    expect(decodeProtectedHeader(before).kid).not.toBe(decodeProtectedHeader(after).kid);
    const publicKeys = createLocalJWKSet(await jwks());
    for (const token of [before, after]) {
      await jwtVerify(token, publicKeys);
      expect((await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(200);
    }
    const [entry] = await expectJson<any[]>(
      await call("/admin/v1/audit?pageSize=1", { token: await tokenFor(OPERATOR) }),
      200,
    );
    expect(entry).toMatchObject({
      actor: OPERATOR.clientId,
      action: "rotate keys",
      subject: "signing-keys",
      requestId: response.headers.get("plat-request-id"),
      reason: expect.stringContaining(added[0].kid),
    });
  });

  // shows: operator/resources/signing-keys
  it("returns 200 with every key and its state, the newest first, page by page, and nothing secret", async () => {
    for (let n = 0; n < 2; n++) await expectJson(await post(), 201);
    const text = await (await keys()).text();
    const all = JSON.parse(text) as { kid: string; alg: string; state: string; publishedUntil: number | null }[];
    const stored = await env.DB.prepare("SELECT kid, sealed_private_jwk AS sealed FROM signing_key").all<any>();
    expect(new Set(all.map((key) => key.kid))).toEqual(new Set(stored.results.map((row) => row.kid)));
    expect(all).toHaveLength(stored.results.length);
    for (const { sealed } of stored.results) expect(text).not.toContain(sealed.slice(0, 20));
    const states = all.filter((key) => key.alg === "ES256").map((key) => key.state);
    expect(states[0]).toBe("signs");
    expect(new Set(states.slice(1))).toEqual(new Set(["verifies"]));
    expect(all.every((key) => (key.state === "signs") === (key.publishedUntil === null))).toBe(true);

    const seen: string[] = [];
    let next: string | undefined = "?pageSize=2";
    while (next !== undefined) {
      const page = await keys(next);
      seen.push(...(await expectJson<any[]>(page, 200)).map((key) => key.kid));
      const link = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
      next = link === undefined ? undefined : new URL(link).search;
    }
    expect(seen).toEqual(all.map((key) => key.kid));
    expect((await keys("?cursor=WzEsMl0")).status).toBe(400);
    const linkOf = async (query: string) => (await keys(query)).headers.get("link");
    expect(await linkOf("?pageSize=100&pageNumber=2")).toMatch(/pageNumber=1&pageSize=100>; rel="prev"$/);
    expect(await linkOf("?pageSize=100&pageNumber=3")).toMatch(/rel="self"$/);
  });

  it("lets an isolate with an old copy sign with the old key for ten minutes, and all accept it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const startMs = Date.now();
    const other = isolate();
    const kidOf = (token: string) => decodeProtectedHeader(token).kid;
    const otherToken = async () => (await expectJson(await other.token(client), 200)).access_token as string;
    // No token of the last minute refreshes the isolate's copy.
    const old = kidOf(await otherToken());
    await expectJson(await post(), 201);
    const late = await otherToken();
    expect(kidOf(late)).toBe(old);
    expect((await call(`/oauth2/v1/tokeninfo?access_token=${late}`)).status).toBe(200);
    const fresh = await tokenFor(client);
    expect(kidOf(fresh)).not.toBe(old);
    // A key that is missing in its copy is looked up.
    quickPauses();
    vi.setSystemTime(startMs + 1);
    const headers = { authorization: `Bearer ${fresh}` };
    expect((await other.fetch("/admin/v1/roles", { headers })).status).toBe(403);
    vi.setSystemTime(startMs + 10 * MIN + SEC);
    expect(kidOf(await otherToken())).not.toBe(old);
  });

  it("shows the keys that the cron makes before they sign, in /jwks", async () => {
    const deps = createDeps(env);
    await tokenFor(client);
    const now = Date.now();
    await deps.oauth.rotateKeys(now + 89 * DAY);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(now + 89 * DAY + 6 * SEC);
    const newest = (await jwks()).keys.find((key) => key.alg === "ES256")?.kid;
    const listed = await expectJson<any[]>(await keys("?pageSize=2"), 200);
    expect(listed.map(({ state }) => state)).toEqual(["published", "published"]);
    expect(listed.map(({ kid }) => kid)).toContain(newest);
    expect(decodeProtectedHeader(await tokenFor(client)).kid).not.toBe(newest);
    vi.setSystemTime(now + 90 * DAY + 6 * SEC);
    expect(decodeProtectedHeader(await tokenFor(client)).kid).toBe(newest);
  });

  itAtNight("publishes the keys at hand in /jwks while the database gives no answer", async () => {
    const state = { isStalled: false, asked: 0 };
    const DB = directoryWith({
      prepare(sql) {
        if (!state.isStalled) return env.DB.prepare(sql);
        const never = () => (state.asked++, new Promise<never>(() => undefined));
        const statement = { bind: () => statement, all: never, first: never, run: never, sql };
        return statement;
      },
    });
    const slow = isolate({ DB });
    const before = await expectJson<JSONWebKeySet>(await slow.fetch("/oauth2/v1/jwks"), 200);
    state.isStalled = true;
    // The first request waits for the database in vain. The next one does not ask it.
    for (const asked of [1, 1])
      expect([await expectJson(await slow.fetch("/oauth2/v1/jwks"), 200), state.asked]).toEqual([before, asked]);
  });

  itAtNight(
    "returns 429 for repeated requests, and the existing keys stay",
    async () => {
      let refused: Response | undefined;
      for (let n = 0; n < 11 && refused === undefined; n++) {
        const response = await post();
        if (response.status !== 201) refused = response;
      }
      expect(await expectJson(refused!, 429)).toMatchObject({ type: "insufficient_resources" });
      expect(Number(refused!.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await jwks()).keys.filter((key) => key.alg === "ES256")).toHaveLength(10);
      await tokenFor(client);
    },
    20_000,
  );

  // shows: operator/resources/signing-keys-one-leaked
  it("ends every token of a leaked key at once, here and in an isolate with a copy of the keys", async () => {
    const other = isolate();
    // Clients have no right to this operation, so a valid token gets 403, and any other 401.
    const verified = async (token: string): Promise<number[]> => {
      const headers = { authorization: `Bearer ${token}` };
      const mine = await call("/admin/v1/tenants", { token });
      return [mine.status, (await other.fetch("/admin/v1/tenants", { headers })).status];
    };
    const stolen = await tokenFor(client);
    expect(await verified(stolen)).toEqual([403, 403]);
    await expectJson(await post("?leaked=true"), 201);
    vi.setSystemTime(Date.now() + 5_000);
    expect(await verified(stolen)).toEqual([401, 401]);
    expect((await jwks()).keys).toHaveLength(SIGNING_ALGS.length);
    expect(await verified(await tokenFor(client))).toEqual([403, 403]);
    expect((await post("?leaked=yes")).status).toBe(400);
  });
});

describe("Signing", () => {
  it("opens a private key once per isolate, for any number of tokens and refreshes", async () => {
    const client = await makeClient();
    const other = isolate();
    const importKey = vi.spyOn(crypto.subtle, "importKey");
    const privateKeys = () =>
      importKey.mock.calls.filter(([format, , , , uses]) => format === "jwk" && uses[0] === "sign");
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let n = 0; n < 5; n++) {
      expect((await other.token(client)).status).toBe(200);
      vi.setSystemTime(Date.now() + 5 * MIN);
    }
    expect(privateKeys()).toHaveLength(1);
    importKey.mockRestore();
  });
});

describe("GET /jwks", () => {
  beforeAll(forgetKeys);
  // shows: oauth/other-endpoints/jwks
  it("makes the first keys of both kinds if there are none, once, and shows public halves only", async () => {
    const fresh = Array.from({ length: 4 }, () => isolate());
    const answers = await Promise.all(
      fresh.map(async (one) => (await one.fetch("/oauth2/v1/jwks")).json<JSONWebKeySet>()),
    );
    expect(answers.map(({ keys }) => keys.length)).toEqual([2, 2, 2, 2]);
    expect(new Set(answers.flatMap(({ keys }) => keys.map((key) => key.kid))).size).toBe(2);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM signing_key").first("n")).toBe(2);
    for (const key of answers[0]!.keys)
      expect(Object.keys(key).toSorted()).toEqual(
        key.alg === "ES256" ? ["alg", "crv", "kid", "kty", "use", "x", "y"] : ["alg", "e", "kid", "kty", "n", "use"],
      );
  });
});
