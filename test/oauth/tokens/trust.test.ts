import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { systemRandom } from "../../../src/platform/random.ts";
import { createSealer } from "../../../src/platform/seal.ts";
import { createDeps } from "../../../src/deps.ts";
import { createKeyRotation } from "../../../src/oauth/tokens/key-rotation.ts";
import { createKeyStore } from "../../../src/oauth/tokens/key-store.ts";
import { makeKey } from "../../../src/oauth/tokens/signing-key.ts";
import {
  createTrustStore,
  type Revocation,
  type TrustUpdate,
  type TrustStore,
} from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust, type IssuedToken } from "../../../src/oauth/tokens/trust.ts";

const sealer = createSealer([{ id: "t", bytes: new Uint8Array(32) }], systemRandom);
const noAudit = { statement: () => env.DB.prepare("SELECT 1"), note: async () => {} };
const rotation = createKeyRotation(createKeyStore(env.DB), (alg) => makeKey(alg, sealer), noAudit);
/** The copy of a separate isolate. */
const trustOver = (store: TrustStore = createTrustStore(env.DB)) =>
  createTrust(store, rotation.makeFirst, sealer, () => {});
const issued = (asOfMs: number): IssuedToken => ({
  clientId: "acme.app",
  clientName: "acme.app",
  clientAuthenticated: true,
  tenant: "acme",
  tenantExplicit: false,
  org: "",
  plan: "standard",
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

/** The real store, but a test decides when each response lands, and its content. */
function scripted() {
  const waiting: ((readUpdate: TrustUpdate) => void)[] = [];
  const store: TrustStore = {
    ...createTrustStore(env.DB),
    readUpdate: () => new Promise((resolve) => waiting.push(resolve)),
  };
  const trust = trustOver(store);
  return {
    trust,
    land: (index: number, revocations: Revocation[]) => waiting[index]!({ keys: [], revocations }),
    asked: () => waiting.length,
  };
}

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
    const third = trust.ensure(14_000, "recent");
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
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       INSERT INTO revocation (kind, key, until_ms, expires_sec) SELECT 'token', 'swept-' || i, 0, 1 FROM n`,
    ).run();
    expect(await left()).toBe(12_000);
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
    const trust = trustOver();
    const { kid } = await trust.signingKey(1_000, "ES256");
    await env.DB.prepare("UPDATE signing_key SET kid = 'moved' WHERE kid = ?").bind(kid).run();
    expect(await trust.verifyKey("moved", "ES256", 1_500)).toBeDefined();
    expect(await trust.verifyKey("moved", "RS256", 1_500)).toBeUndefined();
  });

  it("is not searched for within a second of the last read, however many key names are made up", async () => {
    let asked = 0;
    const real = createTrustStore(env.DB);
    const trust = trustOver({ ...real, readUpdate: (...args) => (asked++, real.readUpdate(...args)) });
    await trust.ensure(1_000, "now");
    const early = Array.from({ length: 20 }, (_, n) => trust.verifyKey(`made-up-${n}`, "ES256", 1_100));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(asked).toBe(1);
    expect(await Promise.all(early)).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(asked).toBeGreaterThan(1);
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
    await trust.ensure(1_004_000, "recent");
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
