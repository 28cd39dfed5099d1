import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { shardIn } from "../../../src/events/model/place.ts";
import { SUBSCRIPTION } from "../../../src/events/model/limits.ts";
import { nameOf, type Topic } from "../../../src/events/model/topic.ts";
import { BY_PLATFORM, pushAudit, type PushAction } from "../../../src/events/push/record/audit.ts";
import type { PushRecord } from "../../../src/events/push/record/record.ts";
import { homeOf } from "../../../src/platform/storage/home.ts";
import { shardBinding, shardsOf } from "../../../src/platform/storage/shards.ts";
import { atEachCall } from "../../support/each-call.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { strideOf } from "../../support/model-runs.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient, type TestClient } from "../../support/platform/clients.ts";
import { operate, OPERATOR } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { shardDb } from "../../support/shards.ts";
import { sweptAt } from "../../support/sweep.ts";
import { playedObjects } from "../support/push/played-objects.ts";
import { recordsOf } from "../support/push/push-records.ts";
import { pushStore } from "../support/push/push-store.ts";
import { body, bodyWith } from "../support/push/subscription-body.ts";

/** Push records of topics whose home is another shard than the directory, through the real Worker. */
const SHARDS = shardsOf(env).length;
const PLACES = Array.from({ length: SHARDS }, (_, shard) => shard);
const { events } = createDeps(env);

let objects: ReturnType<typeof playedObjects>;
let owner: TestClient;
let token: string;
beforeEach(async () => {
  objects = playedObjects();
  owner = await makeClient();
  token = await tokenFor(owner);
});
afterEach(() => void (vi.useRealTimers(), vi.restoreAllMocks()));

/** A topic of the owner whose records are in this shard. */
async function topicIn(shard: number): Promise<{ readonly path: string; readonly topic: Topic }> {
  let eventType: string;
  do eventType = unique("order");
  while (homeOf(`${owner.clientId}.${eventType}`, SHARDS) !== shard);
  expect((await call("/pubsub/v1/topics", { token, json: { eventType } })).status).toBe(201);
  const topic = (await createTopicStore(env.DB).find({ owner: owner.clientId, eventType }))!;
  return { path: `/pubsub/v1/topics/${owner.clientId}/${eventType}`, topic };
}

/** By a client's own token, in an isolate whose objects are played. */
async function clientAt(fetch: Isolate["fetch"], client: TestClient = owner) {
  const bearer = await tokenFor(client);
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  return (path: string, method = "GET", json?: unknown) =>
    fetch(path, { method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) });
}
const here = () => isolate({ PUSH_SUBSCRIPTION: objects.binding }).fetch;

const rowsIn = (shard: number, topic: Topic) =>
  shardDb(shard)
    .prepare("SELECT count(*) AS n FROM push_subscription WHERE topic = ?")
    .bind(nameOf(topic))
    .first<number>("n");
const rowsBy = (topic: Topic) => Promise.all(PLACES.map((shard) => rowsIn(shard, topic)));
const audited = async (topic: Topic): Promise<string[]> => {
  const subject = `push-subscriptions/${nameOf(topic)}/`;
  const told = await expectJson(await operate(`audit?subject=${encodeURIComponent(subject)}&pageSize=100`), 200);
  return told.map((row: { action: string }) => row.action.replace(" push subscription", "")).toReversed();
};
const waiting = async () =>
  (
    await Promise.all(
      PLACES.slice(1).map((shard) => shardDb(shard).prepare("SELECT * FROM carried_audit WHERE row IS NOT NULL").all()),
    )
  ).flatMap(({ results }) => results);
/** Runs the part of the cron that reaches this record. */
const sweepAt = (record: PushRecord) => events.wakeSubscriptions(sweptAt(record.id.slice(-32), Date.now()));

describe("push records of a topic", () => {
  // shows: operator/shards/pushes
  it("are in the home of its name, where everybody finds, changes and removes them", async () => {
    for (const shard of PLACES) {
      const { path, topic } = await topicIn(shard);
      const ask = await clientAt(here());
      expect([shardIn(topic.incarnation, SHARDS), topic.incarnation.length]).toEqual([shard, shard === 0 ? 32 : 34]);
      for (const name of ["orders", "second", "third"])
        await expectJson(await ask(`${path}/subscriptions`, "POST", body({ name })), 201);
      expect(await rowsBy(topic)).toEqual(PLACES.map((at) => (at === shard ? 3 : 0)));
      expect((await ask(`${path}/subscriptions`, "POST", body())).status).toBe(409);
      const changed = bodyWith({ endpoint: "https://shop.example/moved" });
      await expectJson(await ask(`${path}/subscriptions/orders`, "PUT", changed), 200);
      await expectJson(await ask(`${path}/subscriptions/orders/signing-secret`, "POST", {}), 200);
      const shown = await expectJson(await ask(`${path}/subscriptions/orders`), 200);
      expect(shown).toMatchObject({ name: "orders", state: "active", halt: null });
      expect(shown.pushConfig.endpoint).toBe("https://shop.example/moved");
      const list = await expectJson(await ask(`${path}/subscribers?pageSize=2`), 200);
      expect(list.map(({ name }: { name: string }) => name)).toEqual(["orders", "second"]);
      const { id } = list[0];
      expect(await expectJson(await operate(`push-subscriptions/${id}`), 200)).toMatchObject({ name: "orders" });
      expect((await ask(`${path}/subscribers/${id}`, "DELETE")).status).toBe(204);
      expect((await ask(`${path}/subscriptions/second`, "DELETE")).status).toBe(204);
      expect(await rowsBy(topic)).toEqual(PLACES.map((at) => (at === shard ? 1 : 0)));
      expect(await audited(topic)).toEqual([...Array(3).fill("create"), "change", "rotate", "delete", "delete"]);
      expect((await ask(path, "DELETE")).status).toBe(202);
      expect(await rowsIn(shard, topic)).toBe(0);
      expect((await audited(topic)).at(-1)).toBe("end");
    }
    expect(await waiting()).toEqual([]);
  });

  it("stop if the right in the directory is gone, and continue when it is back", async () => {
    const { path } = await topicIn(2);
    const reader = await makeClient({ tenant: owner.tenant });
    const ask = await clientAt(here(), reader);
    await expectJson(await ask(`${path}/subscriptions`, "POST", body()), 201);
    const [{ id }] = await expectJson(await (await clientAt(here()))(`${path}/subscribers`), 200);
    const haltOf = async () => {
      const seen = [await pushStore.findById(id), await pushStore.forDelivery(id, Date.now() + 60_000)];
      expect(seen[0]?.halt).toBe(seen[1]?.halt);
      return seen[0]?.halt;
    };
    const set = (sql: string, ...values: string[]) =>
      env.DB.prepare(sql)
        .bind(...values)
        .run();
    expect(await haltOf()).toBeUndefined();
    for (const [change, back, halt] of [
      ["UPDATE client SET disabled = 1 WHERE id = ?", "UPDATE client SET disabled = 0 WHERE id = ?", "client_disabled"],
      [
        "UPDATE client SET scopes = '[\"plat.pubsub.topic=other.app.x\"]' WHERE id = ?",
        "UPDATE client SET scopes = '[\"plat.pubsub.topic=*\"]' WHERE id = ?",
        "scope_lost",
      ],
      [
        "UPDATE tenant SET disabled = 1 WHERE id = (SELECT tenant FROM client WHERE id = ?)",
        "UPDATE tenant SET disabled = 0 WHERE id = (SELECT tenant FROM client WHERE id = ?)",
        "tenant_disabled",
      ],
    ] as const) {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 120_000 });
      await set(change, reader.clientId);
      expect(await haltOf()).toBe(halt);
      vi.setSystemTime(Date.now() + 120_000);
      await set(back, reader.clientId);
      expect(await haltOf()).toBeUndefined();
    }
  });

  it("are listed for the operator over all shards, page by page and with filters", async () => {
    const made: string[] = [];
    for (const shard of PLACES) {
      const { path } = await topicIn(shard);
      const ask = await clientAt(here());
      for (const name of ["one", "two", "three"]) {
        await expectJson(await ask(`${path}/subscriptions`, "POST", body({ name })), 201);
        made.push(`${path} ${name}`);
      }
    }
    const pages: any[][] = [];
    let next: string | undefined = `/admin/v1/push-subscriptions?client=${owner.clientId}&pageSize=5`;
    for (const bearer = await tokenFor(OPERATOR); next !== undefined;) {
      const answer: Response = await call(next, { token: bearer });
      next = /<https?:\/\/[^/]+([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
      pages.push(await expectJson(answer, 200));
    }
    expect(pages.map(({ length }) => length)).toEqual([5, 5, 2]);
    expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(made.length);
    for (const pageNumber of [1, 2, 3, 4]) {
      const page = `push-subscriptions?client=${owner.clientId}&pageSize=5&pageNumber=${pageNumber}`;
      const ids = (await expectJson(await operate(page), 200)).map(({ id }: { id: string }) => id);
      expect(ids).toEqual((pages[pageNumber - 1] ?? []).map(({ id }) => id));
    }
    expect(await expectJson(await operate(`push-subscriptions?client=${owner.clientId}&maker=unknown`), 200)).toEqual(
      [],
    );
  });

  it("cost one database and the directory, and for deliveries one directory's answer for all of a client", async () => {
    const { path, topic } = await topicIn(1);
    const trips = { shards: PLACES.map(() => 0) };
    const counted = Object.fromEntries(
      shardsOf(env).map(({ number, db }) => {
        const count = () => void (trips.shards[number]! += 1);
        const statement = (real: D1PreparedStatement): D1PreparedStatement =>
          new Proxy(real, {
            get(target, name) {
              const value = Reflect.get(target, name, target) as (...given: unknown[]) => unknown;
              if (name === "bind") return (...given: unknown[]) => statement(target.bind(...given));
              return typeof value !== "function"
                ? value
                : (...given: unknown[]) => (count(), value.apply(target, given));
            },
          });
        const batch = (all: D1PreparedStatement[]) => (count(), db.batch(all));
        return [shardBinding(number), { prepare: (sql: string) => statement(db.prepare(sql)), batch } as never];
      }),
    );
    const deps = createDeps({ ...env, ...counted });
    const cost = async (work: () => Promise<unknown>) => {
      trips.shards.fill(0);
      await work();
      return trips.shards.join(" ");
    };
    const ask = await clientAt(here());
    for (const name of ["one", "two", "three"])
      await expectJson(await ask(`${path}/subscriptions`, "POST", body({ name })), 201);
    const records = await recordsOf(topic);
    const nowMs = Date.now();
    const { store: own } = deps.push;
    // Deliveries: each record is read once in some seconds, and the right once for all three.
    expect(await cost(async () => Promise.all(records.map(({ id }) => own.forDelivery(id, nowMs))))).toBe("1 3 0 0");
    expect(await cost(async () => Promise.all(records.map(({ id }) => own.forDelivery(id, nowMs + 1_000))))).toBe(
      "0 3 0 0",
    );
    expect(await cost(() => own.find({ ...topic, client: owner.clientId, name: "one" }))).toBe("1 1 0 0");
    expect(await cost(() => own.list({ incarnation: topic.incarnation, client: owner.clientId }))).toBe("1 1 0 0");
    // A change is one call of its database; the row of the audit log goes to the directory, and is forgotten there.
    const [gone] = records;
    const row = (action: PushAction) => pushAudit(gone!, action, BY_PLATFORM, nowMs);
    expect(await cost(() => own.remove(gone!.id, row("delete")))).toBe("1 3 0 0");
    expect(await cost(() => own.admission(gone!, SUBSCRIPTION))).toBe("1 1 0 0");
    expect(await cost(() => own.insert(gone!, SUBSCRIPTION, row("create")))).toBe("2 3 0 0");
    const first = await topicIn(0);
    await expectJson(await ask(`${first.path}/subscriptions`, "POST", body()), 201);
    const [inDirectory] = await recordsOf(first.topic);
    expect(await cost(() => own.findById(inDirectory!.id))).toBe("1 0 0 0");
    expect(await cost(() => own.forDelivery(inDirectory!.id, nowMs))).toBe("1 0 0 0");
    expect(await cost(() => own.remove(inDirectory!.id, row("delete")))).toBe("1 0 0 0");
    expect(await cost(() => own.insert(inDirectory!, SUBSCRIPTION, row("create")))).toBe("1 0 0 0");
    // Each of three clients has one subscription: the directory is asked as often as if it had the records. So moving
    // the records of an old topic out of it would spare it nothing (docs/decisions/0018).
    const readers = await Promise.all(Array.from({ length: 3 }, () => makeClient({ tenant: owner.tenant })));
    const readBy = async ({ path: at, topic: on }: typeof first) => {
      for (const reader of readers)
        await expectJson(await (await clientAt(here(), reader))(`${at}/subscriptions`, "POST", body()), 201);
      const all = (await recordsOf(on)).filter(({ client }) => client !== owner.clientId);
      return cost(async () => Promise.all(all.map(({ id }) => own.forDelivery(id, nowMs))));
    };
    expect(await readBy(await topicIn(1))).toBe("3 3 0 0");
    expect(await readBy(first)).toBe("3 0 0 0");
  });
});

describe("the list of seal keys", () => {
  it("counts the records of each shard, so that a deployment can refuse to lose the key of one", async () => {
    const ask = await clientAt(here());
    for (const shard of PLACES) {
      const { path, topic } = await topicIn(shard);
      await expectJson(await ask(`${path}/subscriptions`, "POST", body()), 201);
      const key = `k-${unique("of")}`;
      const reseal = shardDb(shard).prepare("UPDATE push_subscription SET seal_key = ? WHERE topic = ?");
      await reseal.bind(key, nameOf(topic)).run();
      const keys = await expectJson<object[]>(await operate("seal-keys"), 200);
      expect(keys).toContainEqual(expect.objectContaining({ id: key, use: "missing", pushSubscriptions: 1 }));
      expect((await ask(`${path}/subscriptions/orders`, "DELETE")).status).toBe(204);
    }
  });
});

describe("a list of subscribers", () => {
  it("goes on behind the record of a removed client", async () => {
    const { path, topic } = await topicIn(2);
    const clients = await Promise.all([1, 2, 3].map(() => makeClient({ tenant: owner.tenant })));
    const ids = clients.map(({ clientId }) => clientId).toSorted();
    for (const client of clients)
      await expectJson(await (await clientAt(here(), client))(`${path}/subscriptions`, "POST", body()), 201);
    // As after a removal whose part in the other shard failed.
    await env.DB.prepare("DELETE FROM client WHERE id = ?").bind(ids[0]).run();
    const seen: string[] = [];
    for (let next: string | undefined = `${path}/subscribers?pageSize=1`; next !== undefined;) {
      const answer = await call(next, { token });
      seen.push(...(await answer.clone().json<any[]>()).map(({ client }) => client));
      const [, link] = /<([^>]*)>; rel="next"/.exec(answer.headers.get("link")!) ?? [];
      next = link && link.replace(/^https:\/\/[^/]*/, "");
    }
    expect(seen).toEqual(ids.slice(1));
    const { records, next } = await pushStore.ofTopicAfter(topic.incarnation, "", "", 1);
    expect([records, next?.[0]]).toEqual([[], ids[0]]);
  });

  it("has none with an id of a shard that does not exist", async () => {
    const { path } = await topicIn(1);
    const id = "f".repeat(34);
    expect((await call(`${path}/subscribers/${id}`, { token, method: "DELETE" })).status).toBe(404);
    for (const [what, method] of [
      ["", "GET"],
      ["/deliveries?state=dead", "GET"],
      ["", "DELETE"],
    ] as const)
      expect((await operate(`push-subscriptions/${id}${what}`, method)).status).toBe(404);
    const cursor = btoa(JSON.stringify([id])).replaceAll("=", "");
    expect((await operate(`push-subscriptions?pageNumber=2&cursor=${cursor}`)).status).toBe(200);
  });
});

describe("a client that is removed and created again", () => {
  it("has none of the records that were left over, which end within a day and block nothing", async () => {
    const { path, topic } = await topicIn(2);
    const reader = await makeClient({ tenant: owner.tenant });
    await expectJson(await (await clientAt(here(), reader))(`${path}/subscriptions`, "POST", body()), 201);
    const [record] = await recordsOf(topic);
    const left = await shardDb(2).prepare("SELECT * FROM push_subscription WHERE id = ?").bind(record!.id).first();
    expect((await operate(`clients/${reader.clientId}`, "DELETE")).status).toBe(204);
    expect(await rowsIn(2, topic)).toBe(0);
    // As if the Worker had ended in between.
    const columns = Object.keys(left!);
    const restore = () =>
      shardDb(2)
        .prepare(`INSERT INTO push_subscription (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
        .bind(...Object.values(left!))
        .run();
    await restore();
    expect(await pushStore.findById(record!.id)).toBeUndefined();
    expect(await pushStore.forDelivery(record!.id, Date.now())).toBeUndefined();
    await sweepAt(record!);
    expect(await rowsIn(2, topic)).toBe(0);
    await restore();
    const again = await makeClient({ tenant: owner.tenant, clientId: reader.clientId });
    const ask = await clientAt(here(), again);
    expect(await expectJson(await ask(`${path}/subscriptions`), 200)).toEqual([]);
    expect((await ask(`${path}/subscriptions/orders`)).status).toBe(404);
    await expectJson(await ask(`${path}/subscriptions`, "POST", body()), 201);
    const [next] = await recordsOf(topic);
    expect([await rowsIn(2, topic), next!.id === record!.id]).toEqual([1, false]);
    await sweepAt(next!);
    expect(await rowsIn(2, topic)).toBe(1);
  });

  it("or a topic that is deleted while a subscription is created leaves no record", async () => {
    const { topic } = await topicIn(3);
    const [record] = [{ ...template(topic), client: "nobody.here" }];
    expect(await pushStore.insert(record, { ofClient: 9, ofTopic: 9 })).toBe("no_client");
    const gone = {
      ...template(topic),
      incarnation: topic.incarnation.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    };
    expect(await pushStore.insert(gone, { ofClient: 9, ofTopic: 9 })).toBe("no_topic");
    expect([await rowsIn(3, topic), await waiting()]).toEqual([0, []]);
  });

  const template = (topic: Topic): PushRecord => ({
    id: pushStore.newId(topic.incarnation, { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) }),
    topic: nameOf(topic),
    incarnation: topic.incarnation,
    client: owner.clientId,
    name: "orders",
    asOwner: true,
    made: undefined,
    endpoint: "https://e.example",
    username: "u",
    credentials: "x",
    sealKey: "t1",
    state: "active",
    version: 1,
    createdAtMs: Date.now(),
    updatedAtMs: Date.now(),
  });
});

/** Each operation breaks off at each of its calls of a database. Then the caller repeats it, as clients do. */
describe("a break between two databases", () => {
  it("at a creation leaves one record, or none, and its row of the log", { timeout: 300_000 }, async () => {
    const { path, topic } = await topicIn(1);
    const ask = await clientAt(here());
    const calls = await atEachCall(
      async (breaking, number) => {
        const name = `n${number}-${unique("a")}`;
        const made = await (await clientAt(breaking()))(`${path}/subscriptions`, "POST", body({ name }));
        const again = made.status === 201 ? made : await ask(`${path}/subscriptions`, "POST", body({ name }));
        expect([201, 409]).toContain(again.status);
        expect((await ask(`${path}/subscriptions/${name}`)).status).toBe(200);
        await events.wakeSubscriptions(Date.now());
        const rows = await env.DB.prepare("SELECT action FROM audit_entry WHERE subject LIKE ? AND outcome = 'done'")
          .bind(`%/${name}`)
          .all();
        expect(rows.results).toEqual([{ action: "create push subscription" }]);
        expect((await ask(`${path}/subscriptions/${name}`, "DELETE")).status).toBe(204);
      },
      strideOf(5),
      { PUSH_SUBSCRIPTION: objects.binding },
    );
    expect(calls).toBeGreaterThan(2);
    expect([await rowsIn(1, topic), await waiting()]).toEqual([0, []]);
  });

  it("at a change or deletion loses neither", { timeout: 300_000 }, async () => {
    const { path, topic } = await topicIn(2);
    const ask = await clientAt(here());
    for (const kind of ["DELETE", "PUT"])
      await atEachCall(
        async (breaking) => {
          const name = unique("name");
          await expectJson(await ask(`${path}/subscriptions`, "POST", body({ name })), 201);
          const one = `${path}/subscriptions/${name}`;
          const moved = { ...bodyWith({ endpoint: "https://shop.example/moved" }), name };
          const json = kind === "PUT" ? moved : undefined;
          const asked = await (await clientAt(breaking()))(one, kind, json);
          if (asked.status >= 500) expect([200, 204, 404]).toContain((await ask(one, kind, json)).status);
          const shown = await ask(one);
          expect(shown.status).toBe(kind === "PUT" ? 200 : 404);
          await events.wakeSubscriptions(Date.now());
          const rows = await env.DB.prepare("SELECT action FROM audit_entry WHERE subject LIKE ? ORDER BY seq")
            .bind(`%/${name}`)
            .all<{ action: string }>();
          expect(rows.results.map(({ action }) => action.split(" ")[0])).toEqual([
            "create",
            kind === "PUT" ? "change" : "delete",
          ]);
          if (kind === "PUT") expect((await ask(one, "DELETE")).status).toBe(204);
        },
        strideOf(17),
        { PUSH_SUBSCRIPTION: objects.binding },
      );
    expect([await rowsIn(2, topic), await waiting()]).toEqual([0, []]);
  });

  it("at the removal of a client leaves nothing to the next client of its id", { timeout: 300_000 }, async () => {
    const { path, topic } = await topicIn(3);
    const calls = await atEachCall(async (breaking) => {
      const reader = await makeClient({ tenant: owner.tenant });
      await expectJson(await (await clientAt(here(), reader))(`${path}/subscriptions`, "POST", body()), 201);
      const [record] = await recordsOf(topic);
      const remove = async (fetch: Isolate["fetch"]) => {
        const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
        return (await fetch(`/admin/v1/clients/${reader.clientId}`, { method: "DELETE", headers })).status;
      };
      if ((await remove(breaking())) !== 204) expect([204, 404]).toContain(await remove(here()));
      expect(await recordsOf(topic)).toEqual([]);
      const again = await makeClient({ tenant: owner.tenant, clientId: reader.clientId });
      expect(await expectJson(await (await clientAt(here(), again))(`${path}/subscriptions`), 200)).toEqual([]);
      await sweepAt(record!);
      expect(await rowsIn(3, topic)).toBe(0);
    }, strideOf(29));
    expect(calls).toBeGreaterThan(2);
    expect(await waiting()).toEqual([]);
  });

  it("at the deletion of a topic leaves no record", { timeout: 300_000 }, async () => {
    await atEachCall(
      async (breaking) => {
        const { path, topic } = await topicIn(1);
        const ask = await clientAt(here());
        await expectJson(await ask(`${path}/subscriptions`, "POST", body()), 201);
        await (await clientAt(breaking()))(path, "DELETE").catch(() => undefined);
        await ask(path, "DELETE");
        await events.sweep(Date.now());
        expect([await createTopicStore(env.DB).find(topic), await rowsIn(1, topic)]).toEqual([undefined, 0]);
      },
      strideOf(5),
      { PUSH_SUBSCRIPTION: objects.binding },
    );
    await events.wakeSubscriptions(Date.now());
    expect(await waiting()).toEqual([]);
  });
});
