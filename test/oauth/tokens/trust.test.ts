import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { VirtualTime, virtualIsolate } from "../../../tools/bench/herd/virtual-time.ts";
import { StoreUnavailable } from "../../../src/platform/storage/database.ts";
import type { Read } from "../../../src/platform/copies/fresh-cache.ts";
import { MAX_COPY_CHARS, noLocationCache, type LocationCache } from "../../../src/platform/copies/location-cache.ts";
import { createDeps } from "../../../src/deps.ts";
import {
  accessKey,
  createTrustStore,
  placeKey,
  type Revocation,
  type TrustUpdate,
  type TrustStore,
} from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust } from "../../../src/oauth/tokens/trust.ts";
import type { IssuedToken } from "../../../src/oauth/tokens/issued-token.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { OF_ACME } from "./of-acme.ts";
import { quickPauses } from "../../support/quick-pauses.ts";
import { rotation } from "./rotation.ts";
import { sealer } from "../../support/sealer.ts";

/** The copy of a separate isolate. */
const trustOver = (store: TrustStore = createTrustStore(env.DB)) =>
  createTrust({ store, makeFirstKey: rotation.makeFirst, sealer, isolate: ownIsolate, onFault() {} });
const issued = (asOfMs: number): IssuedToken => ({
  ...OF_ACME,
  clientTenant: undefined,
  user: "ada@acme.example",
  subject: "ada@acme.example",
  scopes: [],
  tokenId: "jti",
  grantId: "gid",
  sessionId: "sid",
  issuedAtSec: 0,
  expiresAtSec: 3600,
  recordsAsOfMs: asOfMs,
  userAsOfMs: asOfMs,
});
const row = (seq: number, untilMs: number, more: Partial<Revocation> = {}): Revocation => ({
  seq,
  kind: "client",
  key: "acme.app",
  untilMs,
  expiresSec: 9_999_999_999,
  ...more,
});

/** A store for which a test decides when each response lands, and its content. Time stands until the test moves it. */
function scripted() {
  const waiting: { resolve(update: TrustUpdate): void; reject(thrown: Error): void }[] = [];
  const store: TrustStore = {
    ...createTrustStore(env.DB),
    readUpdate: () => new Promise((resolve, reject) => waiting.push({ resolve, reject })),
  };
  const time = new VirtualTime();
  const trust = createTrust({
    store,
    makeFirstKey: rotation.makeFirst,
    sealer,
    isolate: virtualIsolate(time),
    onFault() {},
  });
  return {
    trust,
    time,
    land: (index: number, revocations: Revocation[] = []) => waiting[index]!.resolve({ keys: [], revocations }),
    fail: (index: number) => waiting[index]!.reject(new StoreUnavailable("D1 is away")),
    asked: () => waiting.length,
  };
}

/** The outcome of a promise that a test must not wait for. */
function outcomeOf<T>(work: Promise<T>): () => T | "pending" {
  let outcome: T | "pending" = "pending";
  void work.then((value) => (outcome = value));
  return () => outcome;
}

describe("Parallel requests", () => {
  it("read D1 once, and all use the answer", async () => {
    const { trust, time, land, asked } = scripted();
    const outcomes = Array.from({ length: 50 }, () => outcomeOf(trust.ensure(0, "recent")));
    await time.runTo(100);
    expect(asked()).toBe(1);
    land(0, [row(1, 90)]);
    await time.runTo(200);
    expect(outcomes.map((outcome) => outcome())).toEqual(Array.from({ length: 50 }, () => true));
    expect(trust.isRevoked(issued(80))).toBe(true);
    expect(asked()).toBe(1);
  });

  it("do not wait while the copy is 3 to 5 s old: one refreshes it beside the answer", async () => {
    const { trust, time, land, asked } = scripted();
    const first = trust.ensure(0, "recent");
    land(0);
    await first;
    await time.runTo(4_000);
    for (let n = 0; n < 50; n++) expect(await trust.ensure(4_000, "recent")).toBe(true);
    expect(asked()).toBe(2);
    land(1);
    await time.runTo(6_000);
    expect(await trust.ensure(6_000, "recent")).toBe(true);
    expect(asked()).toBe(2);
  });

  it("that need an answer from after their arrival share the next read", async () => {
    const { trust, time, land, asked } = scripted();
    const outcomes = Array.from({ length: 50 }, () => outcomeOf(trust.ensure(0, "now")));
    await time.runTo(100);
    expect(asked()).toBe(2);
    land(0);
    await time.runTo(200);
    expect(outcomes.filter((outcome) => outcome() === true)).toHaveLength(1);
    expect(asked()).toBe(3);
    land(2);
    await time.runTo(300);
    expect(outcomes.filter((outcome) => outcome() === true)).toHaveLength(49);
    land(1);
    await time.runTo(400);
    expect(outcomes.every((outcome) => outcome() === true)).toBe(true);
    expect(asked()).toBe(3);
  });

  it("do not hang if the one that asks D1 is cancelled", async () => {
    const { trust, time, land, asked } = scripted();
    // A read that the runtime ends never settles.
    void trust.ensure(0, "recent");
    const second = outcomeOf(trust.ensure(0, "recent"));
    await time.runTo(2_900);
    expect([second(), asked()]).toEqual(["pending", 1]);
    await time.runTo(3_100);
    expect(second()).toBe(false);
    await time.runTo(5_000);
    const third = outcomeOf(trust.ensure(5_000, "recent"));
    expect(asked()).toBe(2);
    land(1);
    await time.runTo(5_100);
    expect(third()).toBe(true);
  });
});

describe("While D1 does not respond", () => {
  const stalled = async () => {
    const all = scripted();
    const first = all.trust.ensure(0, "recent");
    all.land(0);
    await first;
    await all.time.runTo(4_000);
    await all.trust.ensure(4_000, "recent");
    return all;
  };

  it("the copy is used until it is 60 s old, and nobody waits once D1 was waited for", async () => {
    const { trust, time } = await stalled();
    const early = outcomeOf(trust.ensure(5_100, "recent"));
    await time.runTo(5_200);
    expect(early()).toBe("pending");
    await time.runTo(7_200);
    expect(early()).toBe(true);
    for (let atMs = 8_000; atMs <= 60_000; atMs += 100) {
      await time.runTo(atMs);
      const outcome = outcomeOf(trust.ensure(atMs, "recent"));
      await time.runTo(atMs);
      expect(outcome()).toBe(true);
    }
    expect(await trust.ensure(60_001, "recent")).toBe(false);
  });

  it("the newest keys are waited for once, and then those at hand are published until they are 60 s old", async () => {
    const { trust, time, asked } = await stalled();
    await time.runTo(5_100);
    const first = outcomeOf(trust.ensure(5_100, "newest"));
    await time.runTo(5_200);
    expect(first()).toBe("pending");
    await time.runTo(8_200);
    expect(first()).toBe(true);
    const before = asked();
    const next = outcomeOf(trust.ensure(8_200, "newest"));
    await time.runTo(8_200);
    expect([next(), asked()]).toEqual([true, before]);
    const over = outcomeOf(trust.ensure(60_001, "newest"));
    await time.runTo(64_000);
    expect(over()).toBe(false);
  });

  it("reads of D1 back off: after 1, 2, 4 … 15 s, less up to half of it", async () => {
    const { trust, time, asked } = await stalled();
    const askedAtMs: number[] = [];
    for (let atMs = 4_000; atMs <= 120_000; atMs += 100) {
      await time.runTo(atMs);
      const before = asked();
      void trust.ensure(atMs, "recent");
      if (asked() > before) askedAtMs.push(atMs);
    }
    const pauses = askedAtMs.map((atMs, n) => (atMs - (askedAtMs[n - 1] ?? 4_000) - 3_000) / 0.75);
    // Chance is 0.5 here. An attempt counts as failed after 3 s.
    [1_000, 2_000, 4_000, 8_000, 15_000, 15_000].forEach((ms, n) => {
      expect(Math.abs(pauses[n]! - ms)).toBeLessThan(200);
    });
  });

  it("an answer that comes late counts, and is as old as its question", async () => {
    const { trust, time, land, asked } = await stalled();
    await time.runTo(20_000);
    await trust.ensure(20_000, "recent");
    const before = asked();
    await time.runTo(24_000);
    land(before - 1, [row(1, 90)]);
    await time.runTo(24_100);
    expect(await trust.ensure(24_100, "recent")).toBe(true);
    expect(trust.isRevoked(issued(80))).toBe(true);
    await time.runTo(79_900);
    expect(await trust.ensure(79_900, "recent")).toBe(true);
    await time.runTo(80_100);
    const over = outcomeOf(trust.ensure(80_100, "recent"));
    await time.runTo(84_000);
    expect(over()).toBe(false);
  });

  it("an answer in time ends the backoff", async () => {
    const { trust, time, land, asked } = await stalled();
    await time.runTo(20_000);
    await trust.ensure(20_000, "recent");
    land(asked() - 1);
    await time.runTo(25_100);
    const next = outcomeOf(trust.ensure(25_100, "recent"));
    await time.runTo(25_200);
    expect(next()).toBe("pending");
    land(asked() - 1);
    await time.runTo(25_300);
    expect(next()).toBe(true);
  });

  it("a revocation made here counts at once, and answers about tokens are refused", async () => {
    const { trust, time } = await stalled();
    await time.runTo(20_000);
    await trust.revoke([{ kind: "token", key: "jti", expiresSec: 9_999 }], []);
    expect(trust.isRevoked(issued(1))).toBe(true);
    const now = outcomeOf(trust.ensure(20_000, "now"));
    await time.runTo(24_000);
    expect(now()).toBe(false);
    await env.DB.exec("DELETE FROM revocation");
  });
});

describe("A refresh whose response is late", () => {
  it("undoes nothing of a later one", async () => {
    const { trust, land } = scripted();
    const first = trust.ensure(0, "now");
    const second = trust.ensure(0, "now");
    land(1, [row(6, 90)]);
    await second;
    expect(trust.isRevoked(issued(80))).toBe(true);
    land(0, [row(5, 50)]);
    await first;
    expect(trust.isRevoked(issued(80))).toBe(true);
    expect(trust.isRevoked(issued(91))).toBe(false);
  });

  it("does not make the copy older", async () => {
    const { trust, land, asked } = scripted();
    const first = trust.ensure(0, "now");
    const second = trust.ensure(10_000, "now");
    land(1, []);
    await second;
    land(0, []);
    await first;
    const third = trust.ensure(12_900, "recent");
    expect(asked()).toBe(2);
    expect(await third).toBe(true);
  });

  it("does not settle a change that was made after it began", async () => {
    const { trust, land, asked } = scripted();
    const first = trust.ensure(0, "now");
    trust.markStale();
    land(0, []);
    await first;
    const second = trust.ensure(1, "recent");
    expect(asked()).toBe(2);
    land(1, []);
    await second;
    await trust.ensure(2, "recent");
    expect(asked()).toBe(2);
  });
});

describe("Each kind of revocation", () => {
  // shows: oauth/access-tokens/a-row-for-a-family
  it.each([
    ["token", "jti"],
    ["grant", "gid"],
    ["session", "sid"],
    ["client", "acme.app"],
    ["tenant", "acme"],
    ["user", "ada@acme.example"],
    ["grant", accessKey("ada@acme.example", "acme.app")],
    ["user", placeKey("ada@acme.example", "tenant", "acme")],
  ] as const)("%s: concerns its own tokens only", async (kind, key) => {
    const { trust, land } = scripted();
    const refreshed = trust.ensure(0, "now");
    land(0, [row(1, 100, { kind, key })]);
    await refreshed;
    expect(trust.isRevoked(issued(100))).toBe(true);
    expect(trust.isRevoked(issued(101))).toBe(false);
    const others = { tokenId: "x", grantId: "x", sessionId: "x", clientId: "x", tenant: "x", user: "x" };
    expect(trust.isRevoked({ ...issued(100), ...others })).toBe(false);
  });

  it("of a user in an organization: concerns the tokens for this organization only", async () => {
    const { trust, land } = scripted();
    const refreshed = trust.ensure(0, "now");
    land(0, [row(1, 100, { kind: "user", key: placeKey("ada@acme.example", "organization", "acme") })]);
    await refreshed;
    const isRevoked = (more: Partial<IssuedToken>, asOfMs = 100) => trust.isRevoked({ ...issued(asOfMs), ...more });
    expect(isRevoked({ tenant: "", org: "acme" })).toBe(true);
    expect(isRevoked({ tenant: "", org: "acme" }, 101)).toBe(false);
    for (const other of [{ tenant: "acme" }, { tenant: "", org: "x" }, { tenant: "", org: "acme", user: "x" }])
      expect(isRevoked(other)).toBe(false);
  });
});

describe("The sweep of revocations", () => {
  // shows: oauth/access-tokens/revocation-row
  it("deletes rows that concern no valid token, and no others", async () => {
    const store = createTrustStore(env.DB);
    await store.revoke(
      [
        { kind: "token", key: "over", expiresSec: 100 },
        { kind: "token", key: "living", expiresSec: 101 },
      ],
      [],
    );
    expect(await store.deleteExpired(100, 10)).toBe(1);
    const { revocations } = await store.readUpdate(0, 100_500);
    expect(revocations.map((revocation) => revocation.key)).toEqual(["living"]);
  });
});

describe("The sweep of the service", () => {
  it("deletes more rows than one statement does", { timeout: 60_000 }, async () => {
    const left = async () => env.DB.prepare("SELECT count(*) AS n FROM revocation WHERE key LIKE 'swept-%'").first("n");
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
       INSERT INTO revocation (kind, key, until_ms, expires_sec) SELECT 'token', 'swept-' || i, 0, 1 FROM n`,
    ).run();
    expect(await left()).toBe(1_200);
    await createDeps(env).oauth.sweep(1_000_000);
    expect(await left()).toBe(0);
  });
});

describe("The first signing key", () => {
  it("is one, even if several isolates make it at once, and all sign by it", async () => {
    const isolates = Array.from({ length: 5 }, () => trustOver());
    const signers = await Promise.all(isolates.map((trust) => trust.signingKey(1_000, "ES256")));
    expect(new Set(signers.map((signer) => signer.kid)).size).toBe(1);
    const count = await env.DB.prepare("SELECT count(*) AS n FROM signing_key").first("n");
    expect(count).toBe(1);
  });

  it("is found if another isolate made it after the copy was read, so no valid token is refused", async () => {
    quickPauses();
    const trust = trustOver();
    const { kid } = await trust.signingKey(1_000, "ES256");
    await env.DB.prepare("UPDATE signing_key SET kid = 'moved' WHERE kid = ?").bind(kid).run();
    expect(await trust.verifyKey("moved", "ES256", 1_500)).toBeDefined();
    expect(await trust.verifyKey("moved", "RS256", 1_500)).toBeUndefined();
  });

  it("is not searched for within a second of the last read, however many key names are made up", async () => {
    quickPauses();
    let asked = 0;
    const askedAtMs: number[] = [];
    const real = createTrustStore(env.DB);
    const readUpdate: TrustStore["readUpdate"] = (afterSeq, nowMs) => {
      asked++;
      askedAtMs.push(nowMs);
      return real.readUpdate(afterSeq, nowMs);
    };
    const trust = trustOver({ ...real, readUpdate });
    await trust.ensure(1_000, "now");
    const early = Array.from({ length: 20 }, (_, n) => trust.verifyKey(`made-up-${n}`, "ES256", 1_100));
    expect(await Promise.all(early)).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(asked).toBeGreaterThan(1);
    expect(Math.min(...askedAtMs.slice(1))).toBeGreaterThanOrEqual(2_000);
    const before = asked;
    await trust.ensure(9_000, "now");
    await Promise.all(Array.from({ length: 20 }, (_, n) => trust.verifyKey(`of-one-request-${n}`, "ES256", 9_000)));
    expect(asked).toBe(before + 1);
  });
});

describe("A clock that is set back", () => {
  it("makes the copy old, and not fresh for as long as it was set back", async () => {
    let asked = 0;
    const real = createTrustStore(env.DB);
    const trust = trustOver({ ...real, readUpdate: (...args) => (asked++, real.readUpdate(...args)) });
    await trust.ensure(1_000_000, "recent");
    await trust.ensure(1_002_900, "recent");
    expect(asked).toBe(1);
    await trust.ensure(10_000, "recent");
    expect(asked).toBe(2);
  });
});

describe("A revocation whose response was lost", () => {
  it("may have been done, so the next check asks D1", async () => {
    const real = createTrustStore(env.DB);
    const lost: TrustStore["revoke"] = async (ended, beside) => {
      await real.revoke(ended, beside);
      throw new Error("the answer was lost");
    };
    const trust = trustOver({ ...real, revoke: lost });
    await trust.ensure(1_000, "recent");
    await expect(trust.revoke([{ kind: "token", key: "jti", expiresSec: 9_999 }], [])).rejects.toThrow("lost");
    await trust.ensure(1_001, "recent");
    expect(trust.isRevoked(issued(1))).toBe(true);
  });
});

describe("After a restore of D1 to an earlier time", () => {
  const saved = async () => ({
    rows: (await env.DB.prepare("SELECT * FROM revocation ORDER BY seq").all()).results,
    seq: await env.DB.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'revocation'").first<number>("seq"),
  });
  async function restore({ rows, seq }: Awaited<ReturnType<typeof saved>>): Promise<void> {
    await env.DB.batch([
      env.DB.prepare("DELETE FROM revocation"),
      env.DB.prepare(
        `INSERT INTO revocation (seq, kind, key, until_ms, expires_sec, client, issued_to)
         SELECT value ->> 'seq', value ->> 'kind', value ->> 'key', value ->> 'until_ms', value ->> 'expires_sec',
           value ->> 'client', value ->> 'issued_to' FROM json_each(?1)`,
      ).bind(JSON.stringify(rows)),
      env.DB.prepare("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'revocation'").bind(seq),
    ]);
  }
  const expiresSec = Math.floor(Date.now() / 1_000) + 3_600;
  const token = (tokenId: string) => ({ kind: "token", key: tokenId, expiresSec }) as const;

  // The restore takes three revocations away. Fewer, as many and more are made after it.
  for (const made of [1, 3, 5])
    it(`an isolate from before it finds revocations made since (${made}), and keeps the 3 that were lost`, async () => {
      // The many revocations of earlier tests made their numbers run ahead of the clock.
      await restore({ rows: [], seq: 0 });
      const store = createTrustStore(env.DB);
      const name = (when: string, n: number): string => `${when}-${made}-${n}`;
      await store.revoke([token(name("kept", 0))], []);
      const before = await saved();
      await store.revoke(
        [0, 1, 2].map((n) => token(name("lost", n))),
        [],
      );
      const trust = trustOver(store);
      expect(await trust.ensure(Date.now(), "now")).toBe(true);
      // A restore takes longer than the milliseconds by which numbers may be ahead of the clock.
      await scheduler.wait(20);
      await restore(before);
      for (let n = 0; n < made; n++) await store.revoke([token(name("since", n))], []);
      await store.revokeStatement("user", `${made}@acme.example`, expiresSec, "always").run();

      expect(await trust.ensure(Date.now(), "now")).toBe(true);
      const isRevoked = (tokenId: string): boolean => trust.isRevoked({ ...issued(Date.now() + 60_000), tokenId });
      for (let n = 0; n < made; n++) expect(isRevoked(name("since", n))).toBe(true);
      for (let n = 0; n < 3; n++) expect(isRevoked(name("lost", n))).toBe(true);
      expect(trust.isRevoked({ ...issued(0), user: `${made}@acme.example` })).toBe(true);
      expect(isRevoked("another")).toBe(false);
    });
});

describe("A location's copy of the database", () => {
  const expiresSec = Math.floor(Date.now() / 1_000) + 3_600;
  const revoked = (seq: number, key: string): Revocation =>
    row(seq, Number.MAX_SAFE_INTEGER, { kind: "token", key, expiresSec });
  /** A database whose rows and generation a test sets, and a location that keeps every copy. */
  function world() {
    const database = { generation: "one", rows: [] as Revocation[], reads: 0, pageRows: 20_000 };
    const store: TrustStore = {
      ...createTrustStore(env.DB),
      async readUpdate(afterSeq) {
        database.reads += 1;
        const later = database.rows.filter(({ seq }) => seq > afterSeq);
        const revocations = later.slice(0, database.pageRows);
        const isMore = revocations.length === database.pageRows;
        return { keys: [], revocations, isMore, generation: database.generation };
      },
    };
    const copies = new Map<string, Read<unknown>>();
    const location: LocationCache = {
      ...noLocationCache,
      find: async (name) => copies.get(name),
      put: (name, read) => void copies.set(name, read),
    };
    let restores = 0;
    const isolate = (at = location) =>
      createTrust({
        store,
        makeFirstKey: rotation.makeFirst,
        sealer,
        isolate: ownIsolate,
        onFault() {},
        location: at,
        onRestored: () => (restores += 1),
      });
    return { database, copies, isolate, restores: () => restores };
  }
  const knows = (trust: ReturnType<typeof createTrust>, tokenId: string): boolean =>
    trust.isRevoked({ ...issued(Date.now() + 60_000), tokenId });

  // shows: operator/restore/generation
  it("lets an isolate begin anew: numbers given twice are read, and lost revocations forgotten", async () => {
    const { database, isolate, restores } = world();
    database.rows = [revoked(1, "kept"), revoked(2, "lost"), revoked(3, "lost too")];
    const trust = isolate(noLocationCache);
    await trust.ensure(Date.now(), "now");
    expect(knows(trust, "lost")).toBe(true);
    // Number 2 is given again, so copies that only ask for numbers above 3 would miss it.
    database.rows = [revoked(1, "kept"), revoked(2, "since")];
    database.generation = "two";
    await trust.ensure(Date.now(), "now");
    expect(["kept", "lost", "lost too", "since"].map((id) => knows(trust, id))).toEqual([true, false, false, true]);
    expect(restores()).toBe(1);
    const { reads } = database;
    await trust.ensure(Date.now(), "now");
    await trust.ensure(Date.now(), "now");
    expect(database.reads - reads).toBe(2);
    expect(restores()).toBe(1);
  });

  it.each([
    ["more than one answer of D1 and one copy hold", 45_000, 20_000],
    ["as many as one answer of D1 holds", 20_000, 20_000],
    ["few", 3, 20_000],
    ["none", 0, 20_000],
  ])("has all revocations for a new isolate, which asks D1 for nothing: %s", async (_, count, pageRows) => {
    const { database, copies, isolate } = world();
    database.pageRows = pageRows;
    database.rows = Array.from({ length: count }, (__, at) => revoked(at + 1, `token ${at}`));
    await isolate().ensure(Date.now(), "recent");
    for (const { value } of copies.values()) expect(JSON.stringify(value).length).toBeLessThan(MAX_COPY_CHARS / 2);
    const { reads } = database;
    const next = isolate();
    await next.ensure(Date.now(), "recent");
    const ids = [0, 9_999, 10_000, 19_999, 20_000, 44_999, 45_000];
    expect(ids.map((at) => knows(next, `token ${at}`))).toEqual(ids.map((at) => at < count));
    expect(database.reads).toBe(reads);
  });

  it("is continued where a page of it is missing, and with what is newer", async () => {
    const { database, copies, isolate } = world();
    database.rows = Array.from({ length: 25_000 }, (__, at) => revoked(at + 1, `token ${at}`));
    await isolate().ensure(Date.now(), "recent");
    copies.delete("trust base 1");
    copies.delete("trust news");
    database.rows.push(revoked(25_001, "newer"));
    const fresh = isolate();
    await fresh.ensure(Date.now(), "recent");
    const { reads } = database;
    const next = isolate();
    await next.ensure(Date.now(), "recent");
    const ids = ["token 0", "token 10000", "token 24999", "newer", "none"];
    for (const trust of [fresh, next])
      expect(ids.map((id) => knows(trust, id))).toEqual([true, true, true, true, false]);
    expect(database.reads).toBe(reads);
  });

  it("of another generation is worthless, with news and without", async () => {
    const { database, copies, isolate } = world();
    database.rows = [revoked(1, "lost"), revoked(3, "lost too")];
    await isolate().ensure(Date.now(), "recent");
    expect([...copies.keys()].toSorted()).toEqual(["trust base 0", "trust news"]);
    database.rows = [revoked(2, "since")];
    database.generation = "two";
    copies.delete("trust news");
    const fresh = isolate();
    await fresh.ensure(Date.now(), "recent");
    expect([knows(fresh, "since"), knows(fresh, "lost")]).toEqual([true, false]);
    // The next isolate starts from the location's new copy, without D1.
    const { reads } = database;
    const next = isolate();
    await next.ensure(Date.now(), "recent");
    expect([knows(next, "since"), knows(next, "lost")]).toEqual([true, false]);
    expect(database.reads).toBe(reads);
  });

  it("is read with the revocations that D1 has, in one statement", async () => {
    const store = createTrustStore(env.DB);
    const before = await store.readUpdate(0, Date.now());
    expect(before.generation).toBe("");
    await env.DB.prepare("UPDATE restore_point SET generation = 'next'").run();
    expect((await store.readUpdate(0, Date.now())).generation).toBe("next");
    await env.DB.prepare("UPDATE restore_point SET generation = ''").run();
  });
});
