import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createLoadStore } from "../../../src/backup/database/load-store.ts";
import { createDeps } from "../../../src/deps.ts";
import { homesOf } from "../../../src/platform/storage/home.ts";
import { RUNS_OF_A_DAY, RUNS_OF_AN_HOUR } from "../../../src/platform/storage/slice.ts";
import { randomId, systemRandom } from "../../../src/platform/runtime/random.ts";
import { shardBinding, shardsOf } from "../../../src/platform/storage/shards.ts";
import { counting } from "../../support/counting.ts";
import { databaseThrough } from "../../support/database-through.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, onlyShards, shardDb } from "../../support/shards.ts";
import { checkElsewhere, sweptAt } from "../../support/sweep.ts";
import { errorOf, isLiving } from "../support/answers.ts";
import { codeFor } from "../support/code.ts";
import { makeFlow, makeFlowClient, makePublicFlow, type Flow } from "../support/flow.ts";
import { redeem, refresh, refreshed, signIn, type Tokens } from "../support/token-requests.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { grantsOf, operated } from "./support.ts";

afterEach(() => {
  vi.useRealTimers();
});

const grantsIn = (shard: number, email: string): Promise<number | null> =>
  shardDb(shard).prepare("SELECT count(*) AS n FROM refresh_grant WHERE email = ?").bind(email).first<number>("n");
const anchorsOf = async (email: string, clientId: string) => {
  const anchors = `SELECT (SELECT count(*) FROM user WHERE email = ?1) + (SELECT count(*) FROM client WHERE id = ?2) AS n`;
  let found = 0;
  for (const { db } of shardsOf(env).slice(1))
    found += (await db.prepare(anchors).bind(email, clientId).first<number>("n"))!;
  return found;
};
const list = async (token: string): Promise<any[]> =>
  expectJson<any[]>(await call("/oauth2/v1/refreshtokens", { token }), 200);
const idOf = ({ access_token }: Tokens): string => decodeJwt<{ gid: string }>(access_token).gid;
async function expectEnded({ client, email }: Flow, all: readonly Tokens[]): Promise<void> {
  for (const { access_token, refresh_token } of all) {
    expect(await isLiving(access_token)).toBe(false);
    expect(await errorOf(await refresh(client, refresh_token))).toBe("invalid_grant");
  }
  expect(await grantsOf(email)).toBe(0);
}

/** An authorization in a session. Its id has the form of a browser's, with which the ids of grants begin. */
const inSession = () => ({ authorization: { sessionId: randomId(systemRandom) } });

/** Two grants: one in the directory, as from before there were shards, and one in another shard. */
async function inBothHomes(flow: Flow): Promise<readonly [Tokens, Tokens]> {
  const sid = () => ({ authorization: { sessionId: unique("session") } });
  const before = await signIn(flow, { shard: 0, ...sid() });
  expect(await grantsIn(0, flow.email)).toBe(1);
  return [before, await signIn(flow, sid())];
}

describe("The refresh grants of a person", () => {
  // shows: operator/shards/grants
  it("lie in the person's home, and those from before there were more shards in the directory", async () => {
    const flow = await makePublicFlow({}, 2);
    const [before, after] = await inBothHomes(flow);
    expect([await grantsIn(0, flow.email), await grantsIn(2, flow.email)]).toEqual([1, 1]);
    expect([before.refresh_token.length, after.refresh_token.length > 43]).toEqual([43, true]);
    for (const { refresh_token } of [before, after]) {
      let token = refresh_token;
      for (let n = 0; n < 3; n++) token = (await refreshed(flow.client, token)).refresh_token;
    }
    expect([await grantsIn(0, flow.email), await grantsIn(2, flow.email)]).toEqual([1, 1]);
  });

  it("lie where they were when a shard is added, also if the person's home changes", async () => {
    // The person's home is 0 with one shard, 1 with two or three, and 3 with four.
    let flow = await makePublicFlow({}, 3);
    while (homesOf(flow.email, 4).join() !== "0,1,3") flow = await makePublicFlow({}, 3);
    const held: string[] = [];
    for (const shard of [0, 1, 3]) held.push((await signIn(flow, { shard })).refresh_token);
    expect(await Promise.all([0, 1, 2, 3].map((shard) => grantsIn(shard, flow.email)))).toEqual([1, 1, 0, 1]);
    const last = await Promise.all(held.map((token) => refreshed(flow.client, token)));
    expect((await list(last[0]!.access_token)).length).toBe(3);
    // An old isolate does not know the last shard, so it answers 503. The client tries again at another isolate.
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: last[2]!.refresh_token });
    body.set("client_id", flow.client.clientId);
    expect((await isolate(onlyShards(2)).fetch("/oauth2/v1/token", { method: "POST", body })).status).toBe(503);
    expect((await refresh(flow.client, last[2]!.refresh_token)).status).toBe(200);
    expect((await call("/oauth2/v1/refreshtokens", { method: "DELETE", token: last[1]!.access_token })).status).toBe(
      204,
    );
    await expectEnded(flow, last);
  });

  it("are one list, newest first, page by page, with the client's name", async () => {
    const flow = await makePublicFlow({ name: undefined }, 1);
    const made = [...(await inBothHomes(flow))];
    for (let n = 0; n < 3; n++) made.push(await signIn(flow));
    const [, now] = made;
    const whole = await list(now!.access_token);
    const created = whole.map(({ createdAt }) => createdAt as number);
    expect(created).toEqual(created.toSorted((a, b) => b - a));
    expect(new Set(whole.map(({ id }) => id))).toEqual(new Set(made.map(idOf)));
    expect(new Set(whole.map(({ clientName }) => clientName))).toEqual(new Set([flow.client.clientId]));
    const paged: string[] = [];
    let next: string | undefined = "/oauth2/v1/refreshtokens?pageSize=2";
    while (next !== undefined) {
      const page = await call(next, { token: now!.access_token });
      paged.push(...(await expectJson<any[]>(page, 200)).map(({ id }) => id as string));
      next = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(paged).toEqual(whole.map(({ id }) => id));
    const second = await call("/oauth2/v1/refreshtokens?pageSize=2&pageNumber=2", { token: now!.access_token });
    expect((await expectJson<any[]>(second, 200)).map(({ id }) => id)).toEqual(paged.slice(2, 4));
  });

  it("end by their id, by their token, with all of the client's, and by an answer to a stolen one", async () => {
    const flow = await makePublicFlow({}, 3);
    const [first, second, third, fourth] = [
      await signIn(flow),
      await signIn(flow),
      await signIn(flow),
      await signIn(flow),
    ];
    const { access_token: token } = first;
    const path = `/oauth2/v1/refreshtokens/${idOf(second)}`;
    expect((await call(path, { method: "DELETE", token })).status).toBe(204);
    expect((await call(path, { method: "DELETE", token })).status).toBe(404);
    const form = { token: third.refresh_token, client_id: flow.client.clientId };
    expect((await call("/oauth2/v1/revoke", { form })).status).toBe(200);
    expect(await grantsOf(flow.email)).toBe(2);
    const next = await refreshed(flow.client, (await refreshed(flow.client, fourth.refresh_token)).refresh_token);
    expect(await errorOf(await refresh(flow.client, fourth.refresh_token))).toBe("invalid_grant");
    expect(await isLiving(next.access_token)).toBe(false);
    expect(await grantsOf(flow.email)).toBe(1);
    expect((await call("/oauth2/v1/refreshtokens", { method: "DELETE", token })).status).toBe(204);
    await expectEnded(flow, [first, second, third, fourth]);
  });

  it("of a client with a secret end by it alone", async () => {
    const flow = await makeFlow({}, 1);
    const tokens = await signIn(flow);
    const form = { token: tokens.refresh_token };
    expect((await call("/oauth2/v1/revoke", { form })).status).toBe(401);
    expect((await refresh(flow.client, tokens.refresh_token)).status).toBe(200);
    const { clientId, clientSecret = "" } = flow.client;
    const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` };
    expect((await call("/oauth2/v1/revoke", { form, headers })).status).toBe(200);
    await expectEnded(flow, [tokens]);
  });
});

/**
 * Refreshes in another isolate. After the token was used there, `act` runs; then the checks go on, or the directory is
 * out of reach.
 */
async function meanwhile<T>({ client }: Flow, token: string, act: () => Promise<T>, breaksOff = false) {
  let acted: { readonly result: T } | undefined;
  const DB = databaseThrough(async (go) => {
    if (acted !== undefined && breaksOff) throw new Error("D1_ERROR: Network connection lost.");
    return go();
  });
  const shard = databaseThrough(async (go) => {
    const used = await go();
    acted ??= { result: await act() };
    return used;
  }, shardDb(1));
  const form = { grant_type: "refresh_token", refresh_token: token, client_id: client.clientId };
  const init = { method: "POST", body: new URLSearchParams(form) };
  const { status } = await isolate({ DB, [shardBinding(1)]: shard }).fetch("/oauth2/v1/token", init);
  if (acted === undefined) throw new Error("expected a use of the token in shard 1");
  return { status, result: acted.result };
}

/** A person with a refresh token in shard 1, who leaves the tenant and joins it again. */
async function newMember() {
  const flow = await makePublicFlow({}, 1);
  const path = `tenants/${flow.tenant}/members/${flow.email}`;
  return {
    flow,
    ...(await signIn(flow)),
    leave: () => operated(path, "DELETE"),
    join: () => put(path, { roles: [flow.role] }),
  };
}

describe("A refresh token of another shard", () => {
  it("stays as it was if another client or another key comes with it", async () => {
    const flow = await makePublicFlow({}, 1);
    const { refresh_token } = await signIn(flow);
    const thief = await makeFlowClient(flow.tenant, { confidential: false });
    expect(await errorOf(await refresh(thief, refresh_token))).toBe("invalid_grant");
    const rows = everywhere.prepare(
      "SELECT used_at FROM refresh_token JOIN refresh_grant ON refresh_grant.id = grant_id WHERE email = ?",
    );
    expect((await rows.bind(flow.email).all()).results).toEqual([{ used_at: null }]);
    expect((await refresh(flow.client, refresh_token)).status).toBe(200);
  });

  it("is given back if the person may not have tokens now, so that it works when they may again", async () => {
    const flow = await makePublicFlow({}, 2);
    const { refresh_token } = await signIn(flow);
    const member = `tenants/${flow.tenant}/members/${flow.email}`;
    expect(await operated(member, "DELETE")).toBe(204);
    const nowMs = Date.now();
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs + 60_000);
    await put(member, { roles: [flow.role] });
    const next = await refreshed(flow.client, refresh_token);
    expect((await refresh(flow.client, next.refresh_token)).status).toBe(200);
  });

  for (const end of ["breaks off", "is refused"] as const)
    it(`gives a repetition a successor that stays good if the first request ${end} later`, async () => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      for (const isDeleted of [false, true]) {
        const { flow, refresh_token, leave, join } = await newMember();
        if (end === "is refused") await leave();
        const repeat = async () => (await join(), refreshed(flow.client, refresh_token));
        const slow = await meanwhile(flow, refresh_token, repeat, end === "breaks off");
        expect(slow.status).toBe(end === "breaks off" ? 503 : 400);
        // Given back: the token is good for more than 30 s, and has the same successor.
        const later = Date.now() + 60_000;
        vi.useFakeTimers({ toFake: ["Date"], now: later });
        const { refresh_token: successor } = slow.result;
        if (!isDeleted) expect((await refreshed(flow.client, refresh_token)).refresh_token).toBe(successor);
        const next = await refreshed(flow.client, successor);
        // Two parties hold the family if the token comes after its successor, however long ago that was used.
        const used = "used_at IS NOT NULL AND grant_id IN (SELECT id FROM refresh_grant WHERE email = ?)";
        if (isDeleted) await shardDb(1).prepare(`DELETE FROM refresh_token WHERE ${used}`).bind(flow.email).run();
        expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
        expect(await errorOf(await refresh(flow.client, next.refresh_token))).toBe("invalid_grant");
        vi.useRealTimers();
      }
    });

  it("is given back if parallel requests are refused, and the last of them first", async () => {
    const { flow, refresh_token, leave, join } = await newMember();
    await leave();
    const refused = async () => expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    await meanwhile(flow, refresh_token, refused);
    const slow = await meanwhile(flow, refresh_token, async () => meanwhile(flow, refresh_token, refused));
    expect(slow.status).toBe(400);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    await join();
    const next = await refreshed(flow.client, refresh_token);
    expect((await refresh(flow.client, next.refresh_token)).status).toBe(200);
  });

  it("is good after a restore of the database, if it was given back before the backup", async () => {
    const { flow, refresh_token, leave, join } = await newMember();
    await leave();
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    await createLoadStore(shardDb(1)).settle();
    await join();
    const next = await refreshed(flow.client, refresh_token);
    expect((await refresh(flow.client, next.refresh_token)).status).toBe(200);
  });

  it("is not given back after its successor was used", async () => {
    const { flow, refresh_token, leave, join } = await newMember();
    await leave();
    const goOn = async () => {
      await join();
      return refreshed(flow.client, (await refreshed(flow.client, refresh_token)).refresh_token);
    };
    const { result } = await meanwhile(flow, refresh_token, goOn);
    const current = await refreshed(flow.client, result.refresh_token);
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    expect(await errorOf(await refresh(flow.client, current.refresh_token))).toBe("invalid_grant");
  });

  it("is used without its address too: after its key is gone, and with a scope; in three round trips", async () => {
    const flow = await makePublicFlow({}, 2);
    const { refresh_token } = await signIn(flow);
    const { env: counted, tally, reset } = counting(env);
    const own = isolate({ ...counted, SEAL_KEYS: `new:${btoa("n".repeat(32))},${env.SEAL_KEYS}` });
    const use = async (token: string, more: Record<string, string> = {}): Promise<Tokens> => {
      const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: token, ...more });
      body.set("client_id", flow.client.clientId);
      return expectJson<Tokens>(await own.fetch("/oauth2/v1/token", { method: "POST", body }), 200);
    };
    const first = await use(refresh_token);
    reset();
    const second = await use(first.refresh_token);
    expect(tally.d1RoundTrips).toBe(2);
    reset();
    await use(second.refresh_token, { scope: "plat.media_view" });
    expect(tally.d1RoundTrips).toBe(3);
  });
});

describe("All of an owner", () => {
  const OWNERS: Record<string, (flow: Flow, sid: string) => string> = {
    client: ({ client }) => `clients/${client.clientId}`,
    tenant: ({ tenant }) => `tenants/${tenant}`,
    user: ({ email }) => `users/${email}`,
    session: (_, sid) => `sessions/${sid}`,
  };
  // shows: operator/shards/grants-revoked
  it.each(Object.keys(OWNERS))("of a %s ends in every home, and what others have stays", async (kind) => {
    const [flow, other] = [await makePublicFlow({}, 1), await makePublicFlow({}, 1)];
    const [before, after] = await inBothHomes(flow);
    const kept = await signIn(other);
    const sid = decodeJwt<{ sid: string }>(after.access_token).sid;
    expect(await operated(`${OWNERS[kind]!(flow, sid)}/revoke`, "POST")).toBe(204);
    if (kind === "session") {
      expect(await isLiving(before.access_token)).toBe(true);
      expect(await errorOf(await refresh(flow.client, after.refresh_token))).toBe("invalid_grant");
      expect(await isLiving(after.access_token)).toBe(false);
      expect(await grantsOf(flow.email)).toBe(1);
    } else await expectEnded(flow, [before, after]);
    if (kind !== "session") expect(await isLiving(kept.access_token)).toBe(true);
    expect((await refresh(other.client, kept.refresh_token)).status).toBe(200);
  });

  it("ends with another password and with the account", async () => {
    const flow = await makePublicFlow({}, 2);
    const held = await inBothHomes(flow);
    expect(await operated(`users/${flow.email}`, "PUT", { password: unique("another good one ") })).toBe(200);
    await expectEnded(flow, held);
  });
});

describe("A person or client that is removed", () => {
  // shows: operator/shards/grants-erased
  it("leaves no row in any database, and a new one of the same address gets nothing of the old", async () => {
    const flow = await makePublicFlow({}, 3);
    const held = await inBothHomes(flow);
    expect(await operated(`users/${flow.email}`, "DELETE")).toBe(204);
    await expectEnded(flow, held);
    expect(await operated(`clients/${flow.client.clientId}`, "DELETE")).toBe(204);
    expect(await anchorsOf(flow.email, flow.client.clientId)).toBe(0);
  });

  itAtNight(
    "gets nothing of an earlier person's grant that a crash left over; it goes within a day, with the address",
    async () => {
      const flow = await makePublicFlow({}, 1);
      const old = await signIn(flow, inSession());
      const row = await shardDb(1).prepare("SELECT * FROM refresh_grant WHERE email = ?").bind(flow.email).first();
      // Simulates a crash: the directory has removed the person, but the shard has not.
      await env.DB.prepare("DELETE FROM user WHERE email = ?").bind(flow.email).run();
      expect(await errorOf(await refresh(flow.client, old.refresh_token))).toBe("invalid_grant");
      vi.useFakeTimers({ toFake: ["Date"] });
      vi.setSystemTime(Date.now() + 2_000);
      await put(`users/${flow.email}`, { name: "Another Ada" });
      await put(`tenants/${flow.tenant}/members/${flow.email}`, { roles: [flow.role] });
      expect(await errorOf(await refresh(flow.client, old.refresh_token))).toBe("invalid_grant");
      const form = { token: old.refresh_token, client_id: flow.client.clientId };
      expect((await list((await signIn(flow, inSession())).access_token)).length).toBe(1);
      await checkElsewhere(shardsOf(env), sweptAt(row!["id"] as string, Date.now()));
      expect(await grantsOf(flow.email)).toBe(1);
      expect((await call("/oauth2/v1/revoke", { form })).status).toBe(200);
      await env.DB.prepare("DELETE FROM user WHERE email = ?").bind(flow.email).run();
      const rows = await Promise.all(
        ["id FROM refresh_grant", "id_hash FROM session", "code_hash FROM authorization_code"].map(async (key) =>
          shardDb(1)
            .prepare(`SELECT ${key.replace(" ", " AS id ")} WHERE email = ?`)
            .bind(flow.email)
            .all<{ id: string }>(),
        ),
      );
      const left = rows.flatMap(({ results }) => results);
      expect(left.length).toBeGreaterThanOrEqual(3);
      const afterMs = Date.now() + 13 * 3_600_000;
      for (const { id } of left)
        for (const rounds of [RUNS_OF_A_DAY, RUNS_OF_AN_HOUR])
          await createDeps(env).oauth.sweep(sweptAt(id, afterMs, rounds));
      const tables = ["refresh_grant", "session", "authorization_code", "user"];
      const counts = tables.map((table) =>
        everywhere.prepare(`SELECT count(*) AS n FROM ${table} WHERE email = ?`).bind(flow.email).first("n"),
      );
      expect(await Promise.all(counts)).toEqual([0, 0, 0, 0]);
    },
  );

  it("of a client: its grants elsewhere give nothing, and go within a day", async () => {
    const flow = await makePublicFlow({}, 2);
    const { refresh_token } = await signIn(flow, inSession());
    const id = await shardDb(2)
      .prepare("SELECT id FROM refresh_grant WHERE email = ?")
      .bind(flow.email)
      .first<string>("id");
    await env.DB.prepare("DELETE FROM client WHERE id = ?").bind(flow.client.clientId).run();
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token });
    body.set("client_id", flow.client.clientId);
    expect((await isolate().fetch("/oauth2/v1/token", { method: "POST", body })).status).toBe(401);
    await createDeps(env).oauth.sweep(sweptAt(id!, Date.now()));
    expect(await grantsOf(flow.email)).toBe(0);
  });
});

describe("A client that nobody registered", () => {
  it("stays while a grant elsewhere is used, and goes with its grants when none was used for 90 days", async () => {
    const [used, idle] = [await makePublicFlow({}, 1), await makePublicFlow({}, 1)];
    const idOfClient = ({ client }: Flow) => client.clientId;
    for (const flow of [used, idle]) {
      await signIn(flow, inSession());
      const known = "INSERT INTO unregistered_client (id, metadata, read_at, used_at) VALUES (?1, '{}', 1, 2)";
      await env.DB.prepare(known).bind(idOfClient(flow)).run();
    }
    const touch = shardDb(1).prepare("UPDATE refresh_grant SET last_used_at = 3 WHERE client = ?");
    await touch.bind(idOfClient(idle)).run();
    await createDeps(env).oauth.sweep(Date.now());
    const known = env.DB.prepare("SELECT id FROM unregistered_client WHERE id IN (?1, ?2)");
    const left = await known.bind(idOfClient(used), idOfClient(idle)).all();
    expect(left.results).toEqual([{ id: idOfClient(used) }]);
    expect([await grantsOf(used.email), await grantsOf(idle.email)]).toEqual([1, 0]);
  });
});

describe("A code of a person whose home is another shard", () => {
  it("that was redeemed twice ends its grant", async () => {
    const flow = await makePublicFlow({}, 1);
    const code = await codeFor(flow);
    const tokens = await expectJson<Tokens>(await redeem(flow.client, code), 200);
    expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_grant");
    await expectEnded(flow, [tokens]);
  });

  it("gives one grant to parallel requests, or none", async () => {
    for (let round = 0; round < 5; round++) {
      const flow = await makePublicFlow({}, 1);
      const code = await codeFor(flow);
      const answers = await Promise.all(Array.from({ length: 4 }, () => redeem(flow.client, code)));
      const given = answers.filter(({ status }) => status === 200);
      expect(given.length).toBeLessThan(2);
      for (const answer of given) {
        const tokens = await answer.json<Tokens>();
        expect(await errorOf(await refresh(flow.client, tokens.refresh_token))).toBe("invalid_grant");
      }
      expect(await grantsOf(flow.email)).toBe(0);
    }
  });
});
