import { env, waitUntil } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { grantRevocation, type RevokedGrant } from "../../../src/oauth/homes/grant-revocation.ts";
import { allExpiredSec } from "../../../src/oauth/tokens/access-token.ts";
import type { Revocable } from "../../../src/oauth/tokens/issued-token.ts";
import {
  createRevokedTokensStore,
  tokenRevocation,
  type RevokedTokensBound,
} from "../../../src/oauth/tokens/revoked-tokens-store.ts";
import { accessKey, createTrustStore, type NewRevocation } from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust } from "../../../src/oauth/tokens/trust.ts";
import { createIsolate } from "../../../src/platform/copies/isolate.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { sealer } from "../../support/sealer.ts";

const BOUND: RevokedTokensBound = { ofPerson: 5, ofClient: 20, few: 2 };
const store = createTrustStore(env.DB);
const revokedTokens = createRevokedTokensStore(env.DB, BOUND);

interface Token {
  readonly clientId: string;
  readonly user: string;
  readonly tokenId: string;
  readonly grantId?: string;
}
let made = 0;
const some = (count: number, clientId: string, user: string): Token[] =>
  Array.from({ length: count }, () => ({ clientId, user, tokenId: `token-${++made}` }));

async function runAll(ended: readonly NewRevocation[], bounded = revokedTokens): Promise<readonly D1Meta[]> {
  // Changes a row if the statement before it did, as the row of the audit log.
  const report = env.DB.prepare("UPDATE restore_point SET id = id WHERE changes() > 0");
  const steps = bounded.collapseStatements(ended, allExpiredSec(Date.now()), () => report);
  const results = await env.DB.batch([store.addStatement(ended), ...steps]);
  return results.slice(1).flatMap(({ meta }, at) => (at % 3 === 1 ? [] : [meta]));
}
async function run(tokens: readonly Token[], bounded = revokedTokens): Promise<readonly D1Meta[]> {
  const ended = tokens.map((token) => tokenRevocation(token, allExpiredSec(Date.now()) - 60));
  return runAll(ended, bounded);
}
/** Revokes tokens as `/revoke` does. Returns how many rows each step wrote and deleted. */
const revoke = async (tokens: readonly Token[]): Promise<readonly number[]> =>
  (await run(tokens)).map(({ changes }) => changes);
const names = async (): Promise<string[]> =>
  (
    await env.DB.prepare(
      "SELECT kind || ' ' || key AS name FROM revocation WHERE kind <> 'token' ORDER BY kind, key",
    ).all<{ name: string }>()
  ).results.map(({ name }) => name);
const tokenRows = () => env.DB.prepare("SELECT count(*) AS n FROM revocation WHERE kind = 'token'").first<number>("n");

/** A new isolate's answers. */
async function checker(): Promise<(token: Token, asOfMs?: number) => boolean> {
  const isolate = createIsolate(systemClock, systemRandom, waitUntil);
  const fail = (thrown: unknown): never => {
    throw thrown;
  };
  const trust = createTrust({ store, makeFirstKey: async () => {}, sealer, isolate, onFault: fail });
  expect(await trust.ensure(Date.now(), "now")).toBe(true);
  const rest = { grantId: "g", sessionId: "s", clientTenant: undefined, tenant: "n", org: "" };
  return (token, asOfMs = Date.now() - 1_000) => {
    const issued: Revocable = { ...rest, ...token, recordsAsOfMs: asOfMs, userAsOfMs: asOfMs };
    return trust.isRevoked(issued);
  };
}
const LATER = () => Date.now() + 60_000;

beforeEach(async () => {
  await env.DB.prepare("DELETE FROM revocation").run();
});

describe("Revoked tokens of one person and client", () => {
  it("stay rows of their own up to the limit", async () => {
    const tokens = some(BOUND.ofPerson, "app", "ada@a.example");
    expect(await revoke(tokens)).toEqual([0, 0, 0, 0]);
    expect([await tokenRows(), await names()]).toEqual([BOUND.ofPerson, []]);
  });

  it("become a row for the two beyond it, and nobody else's tokens end", async () => {
    const tokens = some(BOUND.ofPerson, "app", "ada@a.example");
    await revoke(tokens);
    const others = [...some(2, "app", "bob@a.example"), ...some(2, "other", "ada@a.example"), ...some(2, "app", "")];
    await revoke(others);
    const last = some(1, "app", "ada@a.example");
    expect(await revoke(last)).toEqual([1, 6, 0, 0]);
    expect(await names()).toEqual([`grant ${accessKey("ada@a.example", "app")}`]);
    expect(await tokenRows()).toBe(others.length);
    const isRevoked = await checker();
    for (const token of [...tokens, ...last, ...others]) expect(isRevoked(token)).toBe(true);
    const [own] = some(1, "app", "ada@a.example");
    expect([isRevoked(own!), isRevoked(own!, LATER())]).toEqual([true, false]);
    for (const [clientId, user] of [
      ["app", "bob@a.example"],
      ["other", "ada@a.example"],
      ["app", ""],
      ["app", "ada@a.example.org"],
    ] as const)
      expect(isRevoked(some(1, clientId, user)[0]!)).toBe(false);
  });

  it("count in one request too, for each person in it, and for tokens without a client", async () => {
    const tokens = [
      ...some(6, "app", "ada@a.example"),
      ...some(5, "app", "bob@a.example"),
      ...some(7, "", "cid@a.example"),
    ];
    expect(await revoke(tokens)).toEqual([2, 13, 0, 0]);
    expect(await names()).toEqual(["grant  of cid@a.example", "grant app of ada@a.example"]);
    const isRevoked = await checker();
    for (const token of tokens) expect(isRevoked(token)).toBe(true);
    expect(isRevoked(some(1, "app", "bob@a.example")[0]!)).toBe(false);
    expect(isRevoked(some(1, "", "ada@a.example")[0]!)).toBe(false);
  });

  it("are one row still, however often the person goes on", async () => {
    for (let round = 0; round < 12; round++) await revoke(some(6, "app", "ada@a.example"));
    expect([await tokenRows(), await names()]).toEqual([0, ["grant app of ada@a.example"]]);
    expect((await checker())(some(1, "app", "bob@a.example")[0]!)).toBe(false);
  });
});

describe("Revoked grants of one person and client", () => {
  const grants = (count: number, clientId: string, email: string) =>
    some(count, clientId, email).map(({ tokenId: id }) => ({ id, clientId, email }));
  const end = async (ended: readonly RevokedGrant[], agoMs = 60_000): Promise<readonly number[]> => {
    const rows = ended.map((grant) => grantRevocation(grant, Date.now() - agoMs));
    return (await runAll(rows)).map(({ changes }) => changes);
  };
  const ofGrant = ({ id, clientId, email }: RevokedGrant) => ({ tokenId: "t", clientId, user: email, grantId: id });

  // shows: oauth/access-tokens/a-row-for-a-family
  it("become a row for the two beyond the limit, and nobody else's end", async () => {
    const ended = grants(BOUND.ofPerson, "app", "ada@a.example");
    expect(await end(ended)).toEqual([0, 0, 0, 0]);
    // Tokens of the person are counted apart.
    await revoke(some(BOUND.ofPerson, "app", "ada@a.example"));
    const others = [...grants(2, "app", "bob@a.example"), ...grants(2, "other", "ada@a.example")];
    await end(others);
    const last = grants(1, "app", "ada@a.example");
    expect(await end(last)).toEqual([1, BOUND.ofPerson + 1, 0, 0]);
    const left = others.map(({ id }) => `grant ${id}`);
    expect(new Set(await names())).toEqual(new Set(["grant app of ada@a.example", ...left]));
    const isRevoked = await checker();
    for (const grant of [...ended, ...last, ...others]) expect(isRevoked(ofGrant(grant))).toBe(true);
    expect(isRevoked(some(1, "app", "bob@a.example")[0]!)).toBe(false);
    expect(isRevoked(some(1, "app", "ada@a.example")[0]!, LATER())).toBe(false);
  });

  it("stay for a minute beside it, since a token of theirs may still be on its way", async () => {
    const ended = grants(BOUND.ofPerson + 1, "app", "ada@a.example");
    expect(await end(ended, 0)).toEqual([1, 0, 0, 0]);
    const isRevoked = await checker();
    expect(isRevoked(ofGrant(ended[0]!), LATER())).toBe(true);
  });

  it("are not counted for the client: many people of a large application sign out", async () => {
    for (let n = 0; n < 2 * BOUND.ofClient; n++)
      expect(await end(grants(3, "app", `p${n}@a.example`))).toEqual([0, 0, 0, 0]);
    expect(await revoke(some(3, "app", "ada@a.example"))).toEqual([0, 0, 0, 0]);
    expect((await checker())(some(1, "app", "ada@a.example")[0]!)).toBe(false);
  });
});

describe("Revoked tokens of a client", () => {
  const person = (n: number) => `p${n}@a.example`;

  it("become rows of the people with most of them, and those with few keep theirs", async () => {
    const many = [1, 2, 3, 4].flatMap((n) => some(4, "app", person(n)));
    const few = [5, 6].flatMap((n) => some(2, "app", person(n)));
    // An id that begins alike is another client's.
    const others = some(4, "app2", person(1));
    for (const tokens of [many, few, others]) expect(await revoke(tokens)).toEqual([0, 0, 0, 0]);
    const last = some(1, "app", person(7));
    expect(await revoke(last)).toEqual([4, 16, 0, 0]);
    expect(await names()).toEqual([1, 2, 3, 4].map((n) => `grant app of ${person(n)}`));
    const isRevoked = await checker();
    for (const token of [...many, ...few, ...others, ...last]) expect(isRevoked(token)).toBe(true);
    for (const n of [1, 5, 7, 8]) expect(isRevoked(some(1, "app", person(n))[0]!)).toBe(n === 1);
    expect(isRevoked(some(1, "app2", person(1))[0]!)).toBe(false);
  });

  it("that it got for itself become a row for these, and people's tokens live on", async () => {
    const own = some(BOUND.ofClient, "app", "");
    expect(await revoke(own)).toEqual([0, 0, 0, 0]);
    const last = some(1, "app", "");
    expect(await revoke(last)).toEqual([1, 21, 0, 0]);
    expect(await names()).toEqual(["grant app of "]);
    const isRevoked = await checker();
    for (const token of [...own, ...last]) expect(isRevoked(token)).toBe(true);
    expect(isRevoked(some(1, "app", "")[0]!, LATER())).toBe(false);
    expect(isRevoked(some(1, "app", person(1))[0]!)).toBe(false);
  });

  it("become one row of the client only if very many people have few each", async () => {
    const tokens = Array.from({ length: 11 }, (_, n) => some(2, "app", person(n))).flat();
    const others = some(2, "other", person(1));
    expect(await revoke(others)).toEqual([0, 0, 0, 0]);
    expect(await revoke(tokens)).toEqual([0, 0, 1, 22]);
    expect(await names()).toEqual(["client app"]);
    expect(await tokenRows()).toBe(others.length);
    const isRevoked = await checker();
    for (const token of [...tokens, ...others]) expect(isRevoked(token)).toBe(true);
    expect(isRevoked(some(1, "app", "new@a.example")[0]!)).toBe(true);
    expect(isRevoked(some(1, "app", "new@a.example")[0]!, LATER())).toBe(false);
  });
});

describe("The count of revoked tokens", () => {
  it("reads the rows of the person and the client alone, and the deletions read none while they are few", async () => {
    const bounded = createRevokedTokensStore(env.DB);
    for (let n = 0; n < 10; n++) await run(some(100, `client-${n}`, `p${n}@a.example`), bounded);
    const metas = await run(some(1, "client-3", "new@a.example"), bounded);
    const [people = 0, forgetPeople, client = 0, forgetClient] = metas.map(({ rows_read: rows }) => rows);
    expect(Math.max(people, client)).toBeLessThan(150);
    expect(Math.max(forgetPeople ?? 9, forgetClient ?? 9)).toBeLessThan(3);
  });
});

describe("Many requests at once", () => {
  it("revoke all their tokens, in any order, and keep few rows", async () => {
    const isDone = await Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        const tokens = some(3, "app", `p${n % 4}@a.example`);
        await revoke(tokens);
        return tokens;
      }),
    );
    const isRevoked = await checker();
    for (const token of isDone.flat()) expect(isRevoked(token)).toBe(true);
    expect(await tokenRows()).toBeLessThanOrEqual(BOUND.ofClient);
    expect(await names()).not.toContain("client app");
  });
});
