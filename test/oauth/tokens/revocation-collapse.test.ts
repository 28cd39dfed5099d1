import { env, waitUntil } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { allExpiredSec } from "../../../src/oauth/tokens/access-token.ts";
import type { Revocable } from "../../../src/oauth/tokens/issued-token.ts";
import {
  createRevocationCollapseStore,
  type RevocationBound,
} from "../../../src/oauth/tokens/revocation-collapse-store.ts";
import { grantFamily, tokenRevocation } from "../../../src/oauth/tokens/revoked-tokens-store.ts";
import { RevocationTable } from "../../../src/oauth/tokens/revocation-table.ts";
import { accessKey, createTrustStore, endedByKey } from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust } from "../../../src/oauth/tokens/trust.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import { halfSipHash } from "../../../src/platform/secrets/half-sip-hash.ts";
import { createIsolate } from "../../../src/platform/copies/isolate.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { rotation } from "./rotation.ts";
import { sealer } from "../../support/sealer.ts";

const BOUND: RevocationBound = { rows: 40, collapsedFrom: 30, left: 15, gainAtLeast: 5, few: 3 };
const MAX = Number.MAX_SAFE_INTEGER;
const bound = createRevocationCollapseStore(env.DB, BOUND);
const store = createTrustStore(env.DB, bound);

interface Row {
  readonly kind?: string;
  readonly key: string;
  readonly issuedTo?: string;
  /** The person whose token or grant it was, besides the client. */
  readonly person?: string;
  readonly untilMs?: number;
  /** The age of a row that revokes without a time limit. It follows from the row's expiry. */
  readonly ageSec?: number;
}

async function insert(rows: readonly Row[]): Promise<void> {
  const familyOf = (kind: string, user: string, clientId: string): string | undefined =>
    kind === "token"
      ? tokenRevocation({ tokenId: "", user, clientId }, 0).family?.key
      : grantFamily(user, clientId).key;
  const list = rows.map(({ kind = "grant", key, issuedTo, person, untilMs = MAX, ageSec = 120 }) => ({
    kind,
    key,
    issuedTo,
    family: person && familyOf(kind, person, issuedTo ?? ""),
    untilMs,
    expiresSec: allExpiredSec(Date.now()) - ageSec,
  }));
  await env.DB.prepare(
    `INSERT INTO revocation (kind, key, until_ms, expires_sec, issued_to, client)
     SELECT value ->> 'kind', value ->> 'key', value ->> 'untilMs', value ->> 'expiresSec', value ->> 'issuedTo',
       value ->> 'family' FROM json_each(?1)`,
  )
    .bind(JSON.stringify(list))
    .run();
}
const some = (count: number, more: Omit<Row, "key">, name = `${more.issuedTo}`): Row[] =>
  Array.from({ length: count }, (_, n) => ({ ...more, key: `${name}-${n}` }));
const names = async (where = "TRUE"): Promise<string[]> =>
  (
    await env.DB.prepare(`SELECT kind || ' ' || key AS name FROM revocation WHERE ${where} ORDER BY seq`).all<{
      name: string;
    }>()
  ).results.map(({ name }) => name);
const count = async () => (await names()).length;
const collapse = () => bound.collapse(allExpiredSec(Date.now()), () => env.DB.prepare("SELECT 1"));

const trustOf = (revocations = store, onOverfull?: () => Promise<void>) =>
  createTrust({
    store: revocations,
    makeFirstKey: rotation.makeFirst,
    sealer,
    isolate: createIsolate(systemClock, systemRandom, waitUntil),
    onFault(thrown) {
      throw thrown;
    },
    onOverfull,
  });
/** Whether a new isolate finds the token revoked. */
async function isRevoked(token: Partial<Revocable>): Promise<boolean> {
  const trust = trustOf(store);
  expect(await trust.ensure(Date.now(), "now")).toBe(true);
  return trust.isRevoked(tokenOf(token));
}
const tokenOf = (token: Partial<Revocable>): Revocable => ({
  tokenId: "t",
  grantId: "g",
  sessionId: "s",
  clientId: "c",
  clientTenant: undefined,
  tenant: "n",
  org: "",
  user: "u",
  recordsAsOfMs: Date.now() - 120_000,
  userAsOfMs: Date.now() - 120_000,
  ...token,
});

beforeEach(async () => {
  await env.DB.batch([
    env.DB.prepare("DELETE FROM revocation"),
    env.DB.prepare("UPDATE revocation_bound SET seq = 0, living = 0"),
  ]);
});

describe("Too many revocations of the platform", () => {
  it("become one row of each client that has the most, and the others keep theirs", async () => {
    await insert([
      ...some(25, { issuedTo: "large" }),
      ...some(10, { issuedTo: "medium" }),
      ...some(8, { issuedTo: "small" }),
    ]);
    expect(await collapse()).toEqual({ people: 0, clients: ["large", "medium"], all: false });
    expect(await names()).toEqual([
      ...some(8, { issuedTo: "small" }).map(({ key }) => `grant ${key}`),
      "client large",
      "client medium",
    ]);
    for (const [grantId, clientId] of [
      ["large-3", "large"],
      ["medium-3", "medium"],
      ["small-3", "small"],
    ] as const)
      expect(await isRevoked({ grantId, clientId })).toBe(true);
    expect(await isRevoked({ grantId: "another", clientId: "small" })).toBe(false);
    expect(await isRevoked({ grantId: "another", clientId: "large" })).toBe(true);
    expect(await isRevoked({ grantId: "another", clientId: "large", recordsAsOfMs: Date.now() + 1_000 })).toBe(false);
  });

  // shows: oauth/access-tokens/a-row-for-a-family
  it("become one row of each person who has many of a client, before a client loses anything", async () => {
    const of = (rows: number, person: string, more: Partial<Row> = {}) =>
      some(rows, { issuedTo: "large", person, ...more }, `${person} ${more.kind ?? "grant"}`);
    await insert([
      ...of(20, "ada@a.example"),
      ...of(2, "bob@a.example"),
      ...of(2, "bob@a.example", { kind: "token" }),
      ...of(3, "cid@a.example"),
      ...of(9, "eve@a.example", { issuedTo: "small" }),
    ]);
    expect(await collapse()).toEqual({ people: 3, clients: [], all: false });
    expect(new Set(await names())).toEqual(
      new Set([
        ...of(3, "cid@a.example").map(({ key }) => `grant ${key}`),
        `grant ${accessKey("ada@a.example", "large")}`,
        `grant ${accessKey("bob@a.example", "large")}`,
        `grant ${accessKey("eve@a.example", "small")}`,
      ]),
    );
    const ada = { clientId: "large", user: "ada@a.example" };
    expect(await isRevoked({ ...ada, grantId: "ada@a.example grant-3" })).toBe(true);
    expect(await isRevoked({ ...ada, grantId: "another", userAsOfMs: Date.now() + 1_000 })).toBe(false);
    expect(await isRevoked({ clientId: "large", user: "zoe@a.example" })).toBe(false);
    expect(await isRevoked({ clientId: "small", user: "ada@a.example" })).toBe(false);
  });

  it("leave the rows of an organization's administrators, which have a family of another meaning", async () => {
    await insert([...some(20, { kind: "client" }, "gone"), ...some(3, { kind: "client" }, "left")]);
    await env.DB.prepare("UPDATE revocation SET client = ?1 WHERE key LIKE 'gone%'").bind(endedByKey("acme")).run();
    await insert(some(20, { issuedTo: "large" }));
    expect(await collapse()).toEqual({ people: 0, clients: ["large"], all: false });
    expect(await isRevoked({ clientId: "gone-3" })).toBe(true);
    expect((await names("kind = 'client'")).length).toBe(24);
    expect(await names("kind = 'grant'")).toEqual([]);
  });

  it("keep the rows of a person's grants whose tokens may still be being issued", async () => {
    const of = { issuedTo: "large", person: "ada@a.example" };
    await insert([...some(25, of), ...some(10, { ...of, ageSec: 10 }, "young")]);
    expect(await collapse()).toMatchObject({ people: 1, clients: [] });
    expect(await count()).toBe(11);
    expect(await isRevoked({ grantId: "young-3", clientId: "large", recordsAsOfMs: Date.now() + 1_000 })).toBe(true);
  });

  it("stay where there are not too many, and the count costs nothing until there may be", async () => {
    await insert(some(29, { issuedTo: "large" }));
    await env.DB.prepare("UPDATE revocation_bound SET seq = (SELECT max(seq) FROM revocation), living = 29").run();
    const result = await bound.isDueStatement().all<{ isDue: number }>();
    expect(result.results).toEqual([{ isDue: 0 }]);
    expect(result.meta.rows_read).toBeLessThan(5);
    expect(await collapse()).toEqual({ people: 0, clients: [], all: false });
    expect(await count()).toBe(29);
  });

  it("that no client has become one row for the whole platform", async () => {
    const kinds = ["user", "tenant", "grant", "session"];
    await insert(
      kinds.flatMap((kind) =>
        some(kind === "session" ? 3 : 14, { kind, untilMs: kind === "user" ? Date.now() - 120_000 : MAX }, kind),
      ),
    );
    expect(await collapse()).toEqual({ people: 0, clients: [], all: true });
    expect(await names("kind <> 'session'")).toEqual(["tenant *"]);
    expect(await count()).toBe(4);
    for (const revoked of [
      { user: "user-3" },
      { tenant: "tenant-3" },
      { grantId: "grant-3" },
      { sessionId: "session-2" },
      {},
    ])
      expect(await isRevoked(revoked)).toBe(true);
    expect(await isRevoked({ recordsAsOfMs: Date.now() + 1_000 })).toBe(false);
  });

  it("are not too many by sessions, which people end by themselves", async () => {
    await insert([...some(100, { kind: "session" }, "session"), ...some(10, { issuedTo: "app" })]);
    expect(await collapse()).toEqual({ people: 0, clients: [], all: false });
    expect(await count()).toBe(110);
    expect(await isRevoked({})).toBe(false);
  });

  it("keep the row of a grant whose tokens may still be being issued", async () => {
    await insert([...some(25, { issuedTo: "large" }), ...some(20, { issuedTo: "large", ageSec: 10 }, "young")]);
    expect(await collapse()).toEqual({ people: 0, clients: ["large"], all: false });
    expect(await names("kind = 'grant'")).toHaveLength(20);
    expect(await isRevoked({ grantId: "young-3", clientId: "large", recordsAsOfMs: Date.now() + 1_000 })).toBe(true);
  });

  it("are not deleted for a cut-off from before them", async () => {
    const untilMs = Date.now() - 600_000;
    await insert([
      { kind: "client", key: "large", untilMs, ageSec: 600 },
      ...some(45, { issuedTo: "large", ageSec: 120 }),
    ]);
    await env.DB.prepare("UPDATE revocation SET until_ms = ?1 WHERE kind = 'client'").bind(untilMs).run();
    await collapse();
    expect(await isRevoked({ grantId: "large-3", clientId: "large" })).toBe(true);
    expect(await names("kind = 'client'")).toEqual(["client large"]);
  });

  it("know the client of a grant and of a person's access to it", async () => {
    await env.DB.batch([
      env.DB.prepare("INSERT OR IGNORE INTO organization (id, name) VALUES ('bound', 'B')"),
      env.DB.prepare("INSERT OR IGNORE INTO tenant (id, organization, name) VALUES ('bound', 'bound', 'B')"),
    ]);
    const access = accessKey("ada@acme.example", "plat.none");
    await env.DB.batch([store.revokeAccessStatement("ada@acme.example", "plat.none", allExpiredSec(Date.now()))]);
    expect(await names()).not.toContain(`grant ${access}`);
    await store.revoke([{ kind: "token", key: "one", expiresSec: allExpiredSec(Date.now()), issuedTo: "large" }], []);
    expect(await env.DB.prepare("SELECT issued_to FROM revocation WHERE key = 'one'").first("issued_to")).toBe("large");
  });
});

describe("Revocations while others are collapsed", () => {
  it(
    "are all still revoked, in isolates from before and in those that start later, and the bound holds",
    { timeout: 60_000 },
    async () => {
      const trusts = Array.from({ length: 4 }, () => trustOf(store, async () => void (await collapse())));
      const revoked: Partial<Revocable>[] = [];
      const living: Partial<Revocable>[] = [];
      await Promise.all(
        trusts.map(async (trust, isolate) => {
          for (let round = 0; round < 12; round++) {
            const clientId = `client-${(isolate + round) % 3}`;
            const grantIds = Array.from({ length: 8 }, (_, n) => `${isolate}.${round}.${n}`);
            await trust.revoke(
              grantIds.map((key) => ({
                kind: "token",
                key,
                expiresSec: allExpiredSec(Date.now()) - 60 - (round % 3),
                client: clientId,
              })),
              [],
            );
            // The records of this token are read after the revocations.
            living.push({ tokenId: `living ${isolate}.${round}`, clientId, recordsAsOfMs: Date.now() + 60_000 });
            revoked.push(...grantIds.map((tokenId) => ({ tokenId, clientId, recordsAsOfMs: Date.now() - 1_000 })));
            expect(trust.isRevoked(tokenOf(revoked.at(-1)!))).toBe(true);
          }
        }),
      );
      await collapse();
      expect(await count()).toBeLessThanOrEqual(BOUND.rows);
      const later = trustOf();
      await later.ensure(Date.now(), "now");
      for (const trust of [...trusts, later]) {
        await trust.ensure(Date.now(), "now");
        expect(revoked.filter((token) => !trust.isRevoked(tokenOf(token)))).toEqual([]);
        expect(living.filter((token) => trust.isRevoked(tokenOf(token)))).toEqual([]);
      }
    },
  );

  it("are read page by page, also those that another isolate adds or collapses meanwhile", async () => {
    await insert(some(35, { issuedTo: "large" }));
    let pages = 0;
    const paged: typeof store = {
      ...store,
      async readUpdate(afterSeq, nowMs) {
        pages += 1;
        if (pages === 2) {
          await insert([{ key: "late" }, ...some(20, { issuedTo: "other" })]);
          await collapse();
        }
        return store.readUpdate(afterSeq, nowMs, 10);
      },
    };
    const trust = trustOf(paged);
    expect(await trust.ensure(Date.now(), "now")).toBe(true);
    expect(pages).toBeGreaterThan(1);
    expect(await names("kind = 'client'")).toContain("client large");
    const about: Partial<Revocable>[] = [
      { grantId: "late" },
      ...Array.from({ length: 35 }, (_, n) => ({ grantId: `large-${n}`, clientId: "large" })),
    ];
    expect(about.filter((token) => !trust.isRevoked(tokenOf(token)))).toEqual([]);
  });
});

describe("The table of an isolate's copy", () => {
  const row = (key: string, untilMs: number, expiresSec: number) =>
    ({ kind: "token", key, untilMs, expiresSec }) as const;
  const table = () => new RevocationTable({ low: 1, high: 2 });

  it("finds what was added, whatever its size, and nothing else", () => {
    const full = table();
    for (let n = 0; n < 3_000; n++) full.add(row(`t${n}`, n, 100), 1);
    expect(full.size).toBe(3_000);
    for (let n = 0; n < 3_000; n++) expect(full.untilMs("token", `t${n}`)).toBe(n);
    expect(full.untilMs("grant", "t1")).toBe(-1);
    expect(full.untilMs("token", "t3000")).toBe(-1);
  });

  it("revokes at least as much after a row that comes late, and forgets those that have expired", () => {
    const late = table();
    late.add(row("a", 90, 100), 1);
    late.add(row("a", 50, 99), 1);
    expect(late.untilMs("token", "a")).toBe(90);
    for (let n = 0; n < 1_000; n++) late.add(row(`b${n}`, 1, 200 + n), n * 1_000 + 150_000);
    expect(late.size).toBeLessThan(200);
    expect(late.untilMs("token", "b999")).toBe(1);
  });
});

describe("HalfSipHash", () => {
  it("gives the values of the reference vectors", () => {
    const bytes = (...list: number[]) => list.map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const words = (word: number) => bytes(word & 255, (word >> 8) & 255, (word >> 16) & 255, word >>> 24);
    const hash = (text: string, first?: number) => {
      const into = { low: 0, high: 0 };
      halfSipHash({ low: 0x03020100, high: 0x07060504 }, text, into, first);
      return words(into.low) + words(into.high);
    };
    expect(hash("")).toBe("218d1f59b9b83cc8");
    expect(hash("\u0100")).toBe("064f39ef7c50eb57");
    expect(hash("\u0100\u0302")).toBe("d5e78a175be52ea1");
    expect(hash("\u0100\u0302\u0504")).toBe("ce3e91358aa2bc25");
    expect(hash("\u0504", 0x03020100)).toBe("ce3e91358aa2bc25");
  });
});
