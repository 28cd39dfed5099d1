import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { backupId, createManifestStore } from "../../src/backup/bucket/manifest-store.ts";
import { LIMITS } from "../../src/backup/model/limits.ts";
import { OBJECT_TABLES, placed, TABLES, tablesOfShards } from "../../src/backup/model/tables.ts";
import type { JobRecord } from "../../src/backup/model/job.ts";
import type { TopicPlace } from "../../src/backup/stages/topic-walk.ts";
import { logOf } from "../../src/events/log/client.ts";
import type { TopicAddress } from "../../src/events/model/topic.ts";
import { classify, KEYSPACES } from "../../src/media/consistency/keyspaces.ts";
import { KEPT } from "../events/support/events-app.ts";
import { makeOwned } from "../http/rights-samples.ts";
import { makeWorld } from "../http/rights-world.ts";
import { makeProvider } from "../support/parties/idp/scripted-provider.ts";
import { casesOf, itAtNight, strideOf } from "../support/model-runs.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put, putService } from "../support/platform/operator.ts";
import { moveToOwnObject, objectDb } from "../support/platform/own-objects.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { losingAnswers } from "./faults.ts";
import { COPY, deployment, destroy, everyEvent, everyRow, keysOf, run, type Held } from "./machine.ts";
import { everywhere } from "../support/shards.ts";
import { shardObjectName, shardsOf } from "../../src/platform/storage/shards.ts";
import { createDeps } from "../../src/deps.ts";

/** Tables in each shard but the directory. */
const SHARD_TABLES = tablesOfShards(2).length;

const newId = () => backupId(Date.now(), crypto.randomUUID());

/** Rows of which the story makes none. */
const MORE = [
  `INSERT INTO session_client (sid, client, session, email, subject, issuer)
    SELECT 's', client.id, 's', user.email, 'sub', 'i' FROM client, user LIMIT 1`,
  `INSERT INTO logout_notice (id, client, subject, sid, issuer, created_at, next_at)
    SELECT 'n', id, 'sub', 's', 'i', 1, 1 FROM client LIMIT 1`,
  `INSERT INTO logout_endpoint (client, address, health, paused_until) SELECT id, 'a', '{}', 1 FROM client LIMIT 1`,
  `INSERT INTO totp (email, sealed_secret, last_step, created_at) SELECT email, 't1.a.b', 1, 1 FROM user LIMIT 1`,
  `INSERT INTO recovery_code (email, code_hash) SELECT email, 'h' FROM user LIMIT 1`,
  `INSERT INTO passkey (id, email, user_handle, public_key, sign_count, backup_eligible, backed_up, transports, name, created_at)
    SELECT 'p', email, 'h', '{}', 0, 0, 0, '[]', 'n', 1 FROM user LIMIT 1`,
  `INSERT INTO outbox (id, event_type, tenant, snapshot, created_at) VALUES ('o1', 'made', 't', '{}', 1)`,
  `INSERT INTO audit_copy (number, name, first_seq, last_seq, rows, previous, head, planned_at, of_entries)
    VALUES (1, 'c', 1, 1, 1, '', 'h', 1, 1)`,
  `INSERT INTO consent (email, client, org, tenant, scopes, given_at)
    SELECT user.email, client.id, '', client.tenant, '[]', 1 FROM user, client LIMIT 1`,
  `INSERT INTO unregistered_client (id, metadata, read_at, used_at) VALUES ('https://a.example/client', '{}', 1, 1)`,
  `INSERT INTO moved_file (id, shard, hop, moved_at) VALUES ('m', 1, 1, 1)`,
  `INSERT INTO revocation (seq, kind, key, until_ms, expires_sec)
    VALUES (1700000000000, 'grant', 'g', 9007199254740991, 9)`,
];

/** Rows of files and sign-ins in each shard, of which the story has some. */
const MORE_FILES = [
  `INSERT INTO organization (id, name, created_at) VALUES ('~', '', 0) ON CONFLICT DO NOTHING`,
  `INSERT INTO tenant (id, organization, name, disabled, created_at) VALUES ('~', '~', '', 1, 0)
    ON CONFLICT DO NOTHING`,
  `INSERT INTO client (id, name, tenant, confidential, redirect_uris, post_logout_redirect_uris, grant_types, scopes,
      require_pkce, created_at)
    VALUES ('some.app', '~some.app', '~', 0, '[]', '[]', '[]', '[]', 1, 0)`,
  `INSERT INTO user (email, name, created_at) VALUES ('some@example.org', '', 0)`,
  `INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at)
    VALUES ('0c', 'some@example.org', '0c', 'default_idp', 1, 2)`,
  `INSERT INTO session_client (sid, client, session, email, subject, issuer)
    VALUES ('0c', 'some.app', '0c', 'some@example.org', 'sub', 'i')`,
  `INSERT INTO logout_notice (id, client, subject, sid, issuer, created_at, next_at) VALUES ('n0', 'some.app', 'sub', '0c', 'i', 1, 1)`,
  `INSERT INTO authorization_code (code_hash, grant_id, client, email, authorization, expires_at)
    VALUES ('0d', '5.7', 'some.app', 'some@example.org', '{}', 1)`,
  `INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
    VALUES ('5.6', 'some.app', 'some@example.org', '{"authenticatedAtMs":1}', 1, 1)`,
  `INSERT INTO refresh_token (token_hash, grant_id, created_at, used_at) VALUES ('0a', '5.6', 1, 2), ('0b', '5.6', 2, NULL)`,
  `INSERT INTO carried_audit (id, at, row) VALUES ('00000000000100', 1, '[1,"r","a","b","s","done","","done","[]"]')`,
  `INSERT INTO owner (client, tenant, visibility) VALUES ('some.client', 'some', 'public')`,
  `INSERT INTO file (id, owner_id, state, content_type, created_at, committed_at, size_bytes, etag, metadata)
    SELECT 'eeee0000000000000000ffff', id, 'committed', 'a/b', 1, 1, 5, 'e', '{}' FROM owner
    WHERE client = 'some.client'`,
  `UPDATE owner SET files = 1, bytes = 5 WHERE client = 'some.client'`,
  `INSERT INTO variant (file_id, nonce, type, size, state, created_at)
    VALUES ('eeee0000000000000000ffff', 'n', 'crop', '5x5', 'ready', 1)`,
  `INSERT INTO requester (client) VALUES ('some.client')`,
  `INSERT INTO erasure (id, tenant, visibility, kind, requested_at, files, bytes) VALUES ('e', 't', 'public', 'all', 1, 1, 1)`,
  `INSERT INTO departed_tenant (tenant, shard) VALUES ('left', 1)`,
  `INSERT INTO departed_to (shard) VALUES (1)`,
  `INSERT INTO past_place (tenant, shard) VALUES ('came', 1)`,
];

/** Rows of a tenant object of which the story makes none. */
const MORE_IN_OBJECT = [
  `INSERT INTO variant (file_id, nonce, type, size, state, created_at, width)
    SELECT id, 'n', 'crop', '5x5', 'ready', 1, 9007199254740993 FROM file WHERE state = 'committed' LIMIT 1`,
  `INSERT INTO moved_file (id, shard, hop, moved_at) VALUES ('m', 1, 1, 1)`,
  `INSERT INTO departed_tenant (tenant, shard) VALUES ('left', 1)`,
  `INSERT INTO departed_to (shard) VALUES (1)`,
  `INSERT INTO past_place (tenant, shard) VALUES ('came', 1)`,
];

/** Tenants with an object of their own: one with files, one with few, and one without. */
interface OwnTenant {
  readonly tenant: string;
  readonly home: number;
  readonly client: TestClient;
}
let own: readonly [OwnTenant, OwnTenant, OwnTenant];
let red: string;
/** The link to commit a pending file whose client was removed. */
let orphan: string;

async function makeOwnTenant(near?: string): Promise<OwnTenant> {
  const tenant = await makeTenant();
  const home = await moveToOwnObject(tenant, near);
  return { tenant, home, client: await makeClient({ tenant }) };
}

async function storeIn({ client }: OwnTenant, text: string): Promise<string> {
  const headers = { "content-type": "text/plain" };
  const body = new TextEncoder().encode(text);
  const file = await call("/media/v2/files", { token: await tokenFor(client), method: "POST", body, headers });
  return (await expectJson(file, 202)).id;
}

const createFile = async (client: TestClient) =>
  expectJson(await call("/media/v2/files", { token: await tokenFor(client), method: "POST", json: {} }), 200);

/** Makes a pending file and the report of a deletion, and removes their client. */
async function leaveFiles(client: TestClient) {
  const [pending, deleted] = [await createFile(client), await createFile(client)];
  const path = `/media/v2/files/${deleted.id}`;
  expect((await call(path, { token: await tokenFor(client), method: "DELETE" })).status).toBe(204);
  const removed = await call(`/admin/v1/clients/${client.clientId}`, {
    token: await tokenFor(OPERATOR),
    method: "DELETE",
  });
  expect(removed.status).toBe(204);
  return pending;
}

/** Fills tenant objects: files, a file with metadata and a variant, a pending file, and a deleted file with its report. */
async function makeOwn(): Promise<void> {
  own = [await makeOwnTenant("weur"), await makeOwnTenant(), await makeOwnTenant()];
  const [first, second] = own;
  const token = await tokenFor(first.client);
  red = await storeIn(first, "red");
  const json = { color: "red" };
  expect((await call(`/media/v2/files/${red}/metadata`, { token, method: "PUT", json })).status).toBe(200);
  for (const text of ["one", "two", "three"]) await storeIn(first, text);
  const removed = await storeIn(first, "gone");
  expect((await call(`/media/v2/files/${removed}`, { token, method: "DELETE" })).status).toBe(204);
  expect((await call("/media/v2/files", { token, method: "POST", json: {} })).status).toBe(200);
  await storeIn(second, "in the second");
  orphan = (await leaveFiles(await makeClient({ tenant: first.tenant }))).commitLink;
  await objectDb(first.home).batch(MORE_IN_OBJECT.map((sql) => objectDb(first.home).prepare(sql)));
}

let world: Awaited<ReturnType<typeof makeWorld>>;
let owned: Awaited<ReturnType<typeof makeOwned>>;
let before: Held;
let files: readonly string[];
const whole = newId();

const publish = async (payload: string) =>
  expectJson(
    await call(`/pubsub/v1/topics/${owned.topic.topicOwnerClient}/${owned.topic.eventType}/publish`, {
      token: world.own,
      json: { payload },
    }),
    201,
  );

beforeAll(async () => {
  world = await makeWorld();
  owned = await makeOwned(world);
  const provider = await makeProvider();
  await put(`users/${world.user.email}/identities/${provider.id}`, { subject: unique("sub") });
  const name = unique("pkg");
  await putService(name, { scopes: ["shop.read"], tenant: world.app.tenant });
  await put(`packages/${name}`, { version: "1", organization: `${world.app.tenant}-org`, services: [name] });
  const path = `/pubsub/v1/topics/${owned.topic.topicOwnerClient}/${owned.topic.eventType}`;
  const { token } = await expectJson(await call(`${path}/read`, { token: world.own, json: {} }), 200);
  await call(`${path}/commit`, { token: world.own, json: { token } });
  await publish("unread");
  await env.DB.batch(MORE.map((sql) => env.DB.prepare(sql)));
  await env.MEDIA.put("blob/eeee0000000000000000ffff", "12345");
  await everywhere.batch(MORE_FILES.map((sql) => everywhere.prepare(sql)));
  await makeOwn();
  await createDeps(env).shards.copies.sweep();
  before = await everyRow();
  files = await keysOf(env.MEDIA, "");
});

/** The platform is as it was before the backup. */
async function expectEverything(): Promise<void> {
  expect(await everyRow()).toEqual(before);
  expect(await keysOf(env.MEDIA, "")).toEqual(files);
}

describe("a backup with a copy of the files", () => {
  it("is taken of a platform that has something in every table", () => {
    const filled = new Set(Object.entries(before).map(([key, rows]) => (rows.length === 0 ? "" : key.split("@")[0])));
    // The push record of the story is in the shard of its topic.
    expect(TABLES.filter((table) => !filled.has(table))).toEqual([]);
    expect(before["carried_audit@3"]).toHaveLength(1);
    expect(before["file@3"]!.length).toBeGreaterThan(0);
    expect(before["refresh_token@3"]!.length).toBeGreaterThan(1);
    for (const table of ["session", "session_client", "logout_notice", "authorization_code"])
      expect(before[`${table}@3`]!.length).toBeGreaterThan(0);
    expect(files.length).toBeGreaterThan(2);
    const ofFirst = OBJECT_TABLES.filter((table) => before[`${table}@${own[0].home}`]!.length === 0);
    expect(ofFirst).toEqual([]);
    // A backup reads no other table of a tenant object.
    for (const { home } of own)
      for (const table of TABLES.filter((one) => !(OBJECT_TABLES as readonly string[]).includes(one)))
        expect(before[`${table}@${home}`]).toEqual([]);
  });

  // shows: operator/backup/whole
  it("is whole when its manifest is there, and verifies", async () => {
    const steps = new Map<string, number>();
    const afterStep = async ({ stage }: JobRecord) => void steps.set(stage, (steps.get(stage) ?? 0) + 1);
    const made = await run("backup", whole, { afterStep });
    expect(made).toMatchObject({ state: "done", error: "" });
    // Eight small tables of a shard are read in one step.
    expect(steps.get("tables")).toBe(3 * Math.ceil((SHARD_TABLES - 1) / 8));
    expect(steps.get("directory_tables")).toBe(Math.ceil((TABLES.length - 3) / 8));
    const tables = [...TABLES.map((table) => placed(table, 0)), ...tablesOfShards(4)];
    const ofObjects = own.flatMap(({ home }) => OBJECT_TABLES.map((table) => placed(table, home)));
    const rows = [...tables, ...ofObjects].reduce((sum, { key }) => sum + before[key]!.length, 0);
    expect(made.counts).toMatchObject({ rows, files: files.length, copiedFiles: files.length, consumers: 1 });
    const verified = await run("verify", whole);
    expect(verified).toMatchObject({ state: "done", error: "", findings: [] });
  });

  // shows: operator/backup/incremental
  it("writes only what is new when it is taken again", async () => {
    const again = await run("backup", newId());
    expect(again.counts).toMatchObject({ copiedFiles: 0, newParts: 0 });
    expect(again.counts.parts).toBeGreaterThan(20);
  });

  it("is restored into an empty platform, row by row, event by event and file by file", async () => {
    const events = await everyEvent();
    await destroy();
    const counted: string[] = [];
    let loading = 0;
    const afterStep = async ({ stage, position }: JobRecord) => {
      if (stage === "totals") counted.push(position);
      if (stage === "tables") loading++;
    };
    const restored = await run("restore", whole, { afterStep });
    expect(restored).toMatchObject({ state: "done", error: "", findings: [] });
    await expectEverything();
    expect(await everyEvent()).toEqual(events);
    // The tables of a shard are counted in one step.
    expect(counted).toHaveLength(1 + shardsOf(env).length);
    // Parts of eight tables are loaded in one step.
    expect(loading).toBeLessThan(20);
    // The cursor was behind the first event.
    const path = `/pubsub/v1/topics/${owned.topic.topicOwnerClient}/${owned.topic.eventType}`;
    const token = await tokenFor(world.app);
    const { events: rest } = await expectJson(await call(`${path}/read`, { token, json: {} }), 200);
    expect(rest.map((event: { payload: unknown }) => event.payload)).toEqual(["unread"]);
  });

  itAtNight("takes the events of an earlier backup over, and reads only those behind them", async () => {
    // A restore copies tenants to their shards again, so their places are new in this backup.
    await run("backup", newId());
    await publish("later");
    const more = await run("backup", newId());
    expect(more.counts.newParts).toBeLessThan(8);
    const last = newId();
    const again = await run("backup", last);
    const verified = await run("verify", last);
    expect(verified).toMatchObject({ findings: [], counts: { events: again.counts.events } });
    await expectSameEvents(last);
  });

  itAtNight(
    "reads all events anew after a restore, because their numbers may stand for others in an earlier backup",
    async () => {
      const generation = () => env.DB.prepare(`SELECT generation FROM restore_point`).first<string>("generation");
      const ids = [newId(), newId(), newId()];
      const inOne = [];
      for (const id of ids) {
        await publish("x");
        if (id === ids[2]) await env.DB.prepare(`UPDATE restore_point SET generation = 'other'`).run();
        const { facts } = await run("backup", id);
        expect(facts.generation).toBe(await generation());
        inOne.push(await eventParts(id));
      }
      // A part more for what is new; then one for all.
      expect(inOne[1]).toBe(inOne[0]! + 1);
      expect(inOne[2]).toBeLessThan(inOne[1]!);
    },
  );

  itAtNight(
    "reads all events of a log anew that was reset since the earlier backup, though it is longer now",
    async () => {
      await publish("undone");
      await run("backup", newId());
      await undoLast(1);
      for (const payload of ["instead", "after"]) await publish(payload);
      const last = newId();
      await run("backup", last);
      await expectSameEvents(last);
    },
  );

  const RESETS = [
    ["before its events are read", "consumers", "undone"],
    ["between two pages of its events", "events", "undone".repeat(40_000)],
  ] as const;
  it.each(casesOf(RESETS, 1))(
    "begins a topic anew whose log is reset %s, so that no event of before is in it",
    async (_, phase, payload) => {
      // Long ones do not fit in one page.
      for (let n = 0; n < 20; n++) await publish(payload);
      if (phase === "consumers") await run("backup", newId());
      const sql = "SELECT count(*) AS n FROM topic WHERE name < (SELECT name FROM topic WHERE event_type = ?)";
      const line = await env.DB.prepare(sql).bind(owned.topic.eventType).first<number>("n");
      let undone = false;
      const id = newId();
      const made = await run("backup", id, {
        async afterStep({ stage, position }) {
          if (stage !== "topics" || position === "" || undone) return;
          const at = JSON.parse(position) as { place: TopicPlace; phase: string; after: unknown };
          if (at.place.line !== line || at.phase !== phase || (phase === "events") !== (at.after !== null)) return;
          undone = true;
          await undoLast(20);
          for (let n = 0; n < 25; n++) await publish("instead");
        },
      });
      expect([made.state, undone]).toEqual(["done", true]);
      const verified = await run("verify", id);
      const { events, parts, partBytes, consumers } = made.counts;
      expect(verified).toMatchObject({ findings: [], counts: { events, parts, partBytes, consumers } });
      await expectSameEvents(id);
    },
  );

  /** Restores the log of the topic to the time before its last publishes. */
  async function undoLast(count: number): Promise<void> {
    const topic = await env.DB.prepare(
      "SELECT owner, event_type AS eventType, incarnation, shards FROM topic WHERE event_type = ?",
    )
      .bind(owned.topic.eventType)
      .first<TopicAddress & Record<string, unknown>>();
    const log = logOf(env.TOPIC_LOG, topic!, 0);
    await runInDurableObject(log, (_: object, { storage }) => {
      const last = "SELECT last_seq FROM segment ORDER BY last_seq DESC LIMIT ?";
      storage.sql.exec(`DELETE FROM segment WHERE last_seq IN (${last})`, count);
    });
    await evictDurableObject(log);
    await log.reset(unique("reset"), 0, KEPT);
  }

  /** Restores this backup of the present state, and goes on with it. */
  async function expectSameEvents(id: string): Promise<void> {
    const events = await everyEvent();
    await destroy();
    expect(await run("restore", id)).toMatchObject({ state: "done", error: "", findings: [] });
    expect(await everyEvent()).toEqual(events);
    await createDeps(env).shards.copies.sweep();
    before = await everyRow();
  }

  /** How many parts hold the events of the topic. */
  async function eventParts(id: string): Promise<number> {
    const manifest = await (await env.BACKUP!.get(`manifest/${id}.json`))!.json<{ index: string[] }>();
    const index = await (await env.BACKUP!.get(`part/${manifest.index[0]!}`))!.text();
    return index.split("\n").filter((line) => line.includes('\\"kind\\":\\"events\\"')).length;
  }
});

/** Drops the result of a step once: of each stage's first step and of every seventh one, in a search of each step. */
const droppingOnce = () => {
  const stride = strideOf(7);
  const seen = new Set<string>();
  return ({ stage, position }: { stage: string; position: string }): boolean => {
    const isFirst = !seen.has(stage);
    const isRepeat = seen.has(`${stage} ${position}`);
    seen.add(stage).add(`${stage} ${position}`);
    return isRepeat || (!isFirst && seen.size % stride !== 0);
  };
};

describe("a job that is stopped", () => {
  // shows: operator/backup/stopped-at-any-point
  it("after a step, before the step is stored, ends as if it had not been", async () => {
    const id = newId();
    const made = await run("backup", id, { beforeStore: droppingOnce() });
    expect(made).toMatchObject({ state: "done", error: "" });
    expect(await run("verify", id, { beforeStore: droppingOnce() })).toMatchObject({ state: "done", findings: [] });
    await destroy();
    const restored = await run("restore", id, { beforeStore: droppingOnce() });
    expect(restored).toMatchObject({ state: "done", error: "", findings: [] });
    expect(restored.counts).toMatchObject({ rows: made.counts.rows, events: made.counts.events, files: files.length });
    await expectEverything();
  });

  itAtNight("at every call to the database, a bucket or an object ends as if it had not been", async () => {
    const id = newId();
    const losing = losingAnswers(env);
    const on = deployment({ ...losing.env, MAINTENANCE: "true" });
    expect(await run("backup", id, { on })).toMatchObject({ state: "done", error: "" });
    expect(losing.lost()).toBeGreaterThan(100);
    expect(await run("verify", id, { on })).toMatchObject({ state: "done", findings: [] });
    await destroy();
    expect(await run("restore", id, { on })).toMatchObject({ state: "done", error: "", findings: [] });
    await expectEverything();
  });
});

describe("a verification", () => {
  it("finds a part that was changed, one that is missing, and a copy with other bytes", async () => {
    const id = newId();
    await run("backup", id);
    const parts = await env.BACKUP!.list({ prefix: "part/" });
    const media = (await keysOf(env.BACKUP!, "media/"))[0]!;
    const copy = await env.BACKUP!.get(media);
    const kept = { bytes: await copy!.arrayBuffer(), options: { customMetadata: copy!.customMetadata! } };
    await env.BACKUP!.put(media, "other bytes", kept.options);
    const table = await partOf("tenant");
    const other = await partOf("organization");
    await env.BACKUP!.put(table.key, "[]\n");
    await env.BACKUP!.delete(other.key);
    const { findings, state } = await run("verify", id);
    expect(state).toBe("done");
    expect(findings.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["part_changed", "part_missing", "file_changed"]),
    );
    for (const { key, bytes } of [table, other]) await env.BACKUP!.put(key, bytes);
    await env.BACKUP!.put(media, kept.bytes, kept.options);
    expect(await run("verify", id)).toMatchObject({ findings: [] });
    expect(parts.objects.length).toBeGreaterThan(20);
  });

  /** The part that holds a table's rows of this test. */
  async function partOf(table: string): Promise<{ key: string; bytes: ArrayBuffer }> {
    const wanted = before[table]![0]!;
    const first = Object.values(JSON.parse(wanted) as object)[0] as string;
    for (const key of await keysOf(env.BACKUP!, "part/")) {
      const object = await env.BACKUP!.get(key);
      const bytes = await object!.arrayBuffer();
      const text = new TextDecoder().decode(bytes);
      const { length } = (await env.DB.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()).results;
      const row = text.startsWith(`["${first}"`) ? (JSON.parse(text.split("\n")[0]!) as unknown[]) : [];
      if (row.length === length) return { key, bytes };
    }
    throw new Error(`no part holds ${first}`);
  }
});

describe("a restore", () => {
  // shows: operator/backup/restore-refused
  it.each([
    ["a platform of another name", { PLATFORM: "other" }, /PLATFORM is other here/],
    ["a key of the same id and other bytes", { SEAL_KEYS: `t1:${btoa("x".repeat(32))}` }, /another key under that id/],
    ["no such key", { SEAL_KEYS: `t2:${btoa("x".repeat(32))}` }, /SEAL_KEYS lacks it/],
  ])("is refused before the first write by %s", async (_, changed, error) => {
    await destroy();
    const restored = await run("restore", whole, { on: deployment(changed) });
    expect(restored).toMatchObject({ state: "failed", error: expect.stringMatching(error) });
    expect(Object.values(await everyRow()).flat()).toEqual([]);
  });

  it("is refused by a platform that is not empty", async () => {
    expect(await run("restore", whole)).toMatchObject({ state: "done", error: "" });
    expect(await run("restore", whole)).toMatchObject({ state: "failed", error: expect.stringContaining("empty") });
  });

  it("waits while the platform is not in maintenance", async () => {
    const on = deployment({ MAINTENANCE: "false" });
    await destroy();
    await expect(run("restore", whole, { on })).rejects.toThrow(/MAINTENANCE is off/);
  });
});

describe("tenants with objects of their own", () => {
  const restoredFrom = async (id: string): Promise<JobRecord> => {
    await destroy();
    return run("restore", id);
  };

  // shows: operator/backup/tenant-objects
  it("have everything again after a restore: files, their index, reports and the right to use them", async () => {
    expect(await restoredFrom(whole)).toMatchObject({ state: "done", error: "", findings: [] });
    await expectEverything();
    const [first, second, third] = own;
    const token = await tokenFor(first.client);
    const found = `/media/v2/files?q=color:red&tenant=${first.tenant}`;
    expect(await expectJson(await call(found, { token }), 200)).toMatchObject([{ id: red }]);
    const { media } = createDeps(env);
    const used = await Promise.all(own.map(({ tenant }) => media.usage(tenant)));
    expect(used.map(({ files: count }) => count)).toEqual([4, 1, 0]);
    const { link } = await expectJson(await call(`/media/v2/files/${red}`, { token }), 200);
    expect(await (await call(link)).text()).toBe("red");
    for (const one of [second, third]) {
      const id = await storeIn(one, "later");
      expect(await objectDb(one.home).prepare("SELECT state FROM file WHERE id = ?").bind(id).first("state")).toBe(
        "committed",
      );
    }
    // A new client inherits nothing from one that was removed before the backup.
    const heir = await makeClient({ tenant: first.tenant });
    const { id: its } = await createFile(heir);
    const as = { token: await tokenFor(heir) };
    expect((await call(orphan, { ...as, method: "POST", json: {} })).status).toBe(404);
    expect((await call(`/media/v2/files/${its}`, { ...as, method: "DELETE" })).status).toBe(204);
    expect(await expectJson(await call(`/media/v2/erasures?tenant=${first.tenant}`, as), 200)).toHaveLength(1);
    // A new object gets a number that none had.
    expect((await makeOwnTenant()).home).toBeGreaterThan(third.home);
    await restoredFrom(whole);
  });

  it("are made where they were, before anything else calls them", async () => {
    await destroy();
    const asked: [string, string | undefined][] = [];
    const at = (name: string, options?: { locationHint?: string }) => {
      asked.push([name, options?.locationHint]);
      return env.SHARD_DATABASE.getByName(name, options as never);
    };
    const objects = { getByName: at } as unknown as typeof env.SHARD_DATABASE;
    await run("restore", whole, { on: deployment({ SHARD_DATABASE: objects }) });
    const firstOf = (home: number) => asked.find(([name]) => name === shardObjectName(home));
    expect(own.map(({ home }) => firstOf(home)?.[1])).toEqual(["weur", undefined, undefined]);
  });

  // shows: operator/backup/tenant-objects-refused
  it("are refused before the first write by a deployment without such objects, and by objects with rows", async () => {
    await destroy();
    const without = deployment({ TENANT_OBJECTS: "" });
    expect(await run("restore", whole, { on: without })).toMatchObject({
      state: "failed",
      error: expect.stringContaining("set TENANT_OBJECTS"),
    });
    const { home } = own[1];
    const organization = "organization (id, name, created_at) VALUES ('', '', 0)";
    await objectDb(home).prepare(`INSERT INTO ${organization}`).run();
    expect(await run("restore", whole)).toMatchObject({
      state: "failed",
      error: expect.stringContaining(`rows in organization of tenant object ${home}`),
    });
    const rows = Object.entries(await everyRow()).filter(([, some]) => some.length > 0);
    expect(rows.map(([key]) => key)).toEqual([`organization@${home}`]);
    // Such an object has no row yet, but a move gave it to another tenant.
    await destroy();
    await objectDb(home).prepare("INSERT INTO tenant_copy (tenant, version) VALUES ('another', 0)").run();
    expect(await run("restore", whole)).toMatchObject({
      state: "failed",
      error: expect.stringContaining(`object ${home}, which is another tenant's here`),
    });
    await objectDb(home).prepare("DELETE FROM tenant_copy WHERE tenant = 'another'").run();
    expect(await restoredFrom(whole)).toMatchObject({ state: "done" });
    // Nor is a backup made that would lack them.
    expect(await run("backup", newId(), { on: without })).toMatchObject({
      state: "failed",
      error: expect.stringContaining("set TENANT_OBJECTS"),
    });
  });

  it("are few parts and few facts in all, and only those of changed objects are new in the next backup", async () => {
    await run("backup", newId());
    const made = await run("backup", newId());
    expect(made.counts.newParts).toBe(0);
    const keys = Object.keys(made.facts.tables).filter((key) => key.includes("@objects"));
    expect(keys).toHaveLength(OBJECT_TABLES.length);
    await objectDb(own[1].home).prepare("UPDATE file SET file_name = 'n'").run();
    expect((await run("backup", newId())).counts.newParts).toBe(1);
    await objectDb(own[1].home).prepare("UPDATE file SET file_name = NULL").run();
  });

  const SIZES = [
    ["a table fits no page", { pageRows: 2, pageChars: 700, objectTableChars: 1_000 }],
    ["each block has one object, and a page one row", { tenantObjects: 1, pageRows: 1, rowsPerPart: 1 }],
  ] as const;
  it.each(casesOf(SIZES, 1))(
    "are read and restored whole if %s, though the job stops after each first step",
    async (_, sizes) => {
      const usual = { ...LIMITS };
      Object.assign(LIMITS, sizes);
      onTestFinished(() => void Object.assign(LIMITS, usual));
      let large = 0;
      const id = newId();
      const made = await run("backup", id, {
        beforeStore: droppingOnce(),
        async afterStep({ stage, position }) {
          if (stage === "tenant_objects" && position.includes("large")) large++;
        },
      });
      expect([made.state, made.error, large > OBJECT_TABLES.length]).toEqual(["done", "", true]);
      const verified = await run("verify", id);
      expect(verified).toMatchObject({ findings: [], counts: { rows: made.counts.rows } });
      await destroy();
      const restored = await run("restore", id, { beforeStore: droppingOnce() });
      expect(restored).toMatchObject({ state: "done", error: "", findings: [], counts: { rows: made.counts.rows } });
      await expectEverything();
    },
  );

  itAtNight(
    "are restored without the rows that refer to something deleted meanwhile, and the job says which",
    async () => {
      const usual = { ...LIMITS };
      Object.assign(LIMITS, { pageRows: 1 });
      onTestFinished(() => void Object.assign(LIMITS, usual));
      const { home } = own[0];
      const id = newId();
      let isGone = false;
      const key = (table: (typeof OBJECT_TABLES)[number]) => `${table}@objects`;
      await run("backup", id, {
        // Variants are read before the files that they belong to.
        async afterStep({ stage, facts }) {
          if (isGone || stage !== "tenant_objects" || !(key("variant") in facts.tables)) return;
          isGone = true;
          const db = objectDb(home);
          await db.batch([
            db.prepare("DELETE FROM variant"),
            db.prepare("DELETE FROM attribute"),
            db.prepare("DELETE FROM file"),
          ]);
        },
      });
      const restored = await restoredFrom(id);
      expect(restored.findings).toContainEqual({ kind: "row_dropped", subject: `${key("variant")}: 1` });
      expect((await everyRow())[`variant@${home}`]).toEqual([]);
      await restoredFrom(whole);
    },
  );

  it("have the same columns in a backup, or it fails: a release was deployed while it ran", async () => {
    const { home } = own[2];
    const alter = (change: string) => objectDb(home).prepare(`ALTER TABLE past_place ${change}`).run();
    await alter("ADD COLUMN newer TEXT");
    const failed = await run("backup", newId());
    expect(failed).toMatchObject({ state: "failed", error: expect.stringContaining("other columns") });
    await alter("DROP COLUMN newer");
  });
});

describe("a backup that was taken while the platform worked", () => {
  // shows: operator/backup/while-the-platform-works
  it("is restored without the rows that refer to something deleted meanwhile, and says which", async () => {
    await destroy();
    await run("restore", whole);
    const id = newId();
    const { tablesAtOnce } = LIMITS;
    Object.assign(LIMITS, { tablesAtOnce: 1 });
    onTestFinished(() => void Object.assign(LIMITS, { tablesAtOnce }));
    const made = await run("backup", id, {
      // Members and sessions are read before the people that they belong to.
      async afterStep({ stage, facts }) {
        if (stage !== "directory_tables" || !("tenant_member" in facts.tables) || "user" in facts.tables) return;
        await env.DB.prepare(`DELETE FROM user`).run();
      },
    });
    expect(made.state).toBe("done");
    await destroy();
    const restored = await run("restore", id);
    expect(restored).toMatchObject({ state: "done", error: "" });
    const dropped = restored.findings.map(({ subject }) => subject.split(":")[0]);
    expect(dropped).toEqual(expect.arrayContaining(["tenant_member", "session", "refresh_grant"]));
    const rows = await everyRow();
    expect([rows["tenant_member"], rows["session"], rows["refresh_token"]]).toEqual([[], [], []]);
    expect(rows["tenant"]!.length).toBeGreaterThan(1);
  });
});

describe("an empty platform that has worked", () => {
  const sequences = async () =>
    (await env.DB.prepare(`SELECT name, seq FROM sqlite_sequence ORDER BY name`).all<{ name: string; seq: number }>())
      .results;

  itAtNight("keeps its own rows of the audit log behind those of the backup, and gives no number twice", async () => {
    await destroy();
    await run("restore", whole);
    const id = newId();
    await run("backup", id);
    const held = await everyRow();
    const numbers = await sequences();
    await destroy();
    const ownRow = `INSERT INTO audit_entry (at, request_id, actor, action, subject, outcome, reason) VALUES (1, '', 'own', '', '', '', '')`;
    await env.DB.batch([ownRow, ownRow].map((sql) => env.DB.prepare(sql)));
    expect(await run("restore", id)).toMatchObject({ state: "done", error: "", findings: [] });
    const rows = await everyRow();
    expect(rows["audit_entry"]).toEqual(expect.arrayContaining([...held["audit_entry"]!]));
    expect(rows["audit_entry"]!.filter((row) => row.includes('"own"'))).toHaveLength(2);
    const now = new Map((await sequences()).map(({ name, seq }) => [name, seq]));
    // The last owners and waiting events are gone; their numbers stay taken.
    expect(numbers.map(({ name }) => name)).toEqual(expect.arrayContaining(["owner", "outbox", "revocation"]));
    for (const { name, seq } of numbers) expect(now.get(name)).toBeGreaterThanOrEqual(seq);
  });
});

describe("a file that was uploaded in parts", () => {
  const KEY = `blob/${"f".repeat(24)}`;
  const expected = {
    rowKey: "f",
    key: KEY,
    need: "bytes",
    fileId: "f",
    nonce: null,
    client: "c",
    tenant: "t",
  } as const;

  itAtNight(
    "has another ETag after a restore, which a comparison takes for what it is, and is copied once",
    async () => {
      await env.MEDIA.delete(KEY);
      const upload = await env.MEDIA.createMultipartUpload(KEY);
      const object = await upload.complete([await upload.uploadPart(1, "the bytes")]);
      const row = { ...expected, sizeBytes: object.size, etag: object.etag };
      const found = async () => classify(KEYSPACES[0], KEY, row, (await env.MEDIA.head(KEY))!, 0);
      const id = newId();
      await run("backup", id);
      await destroy();
      expect(await run("restore", id)).toMatchObject({ state: "done", findings: [] });
      const restored = (await env.MEDIA.head(KEY))!;
      expect(restored.etag).not.toBe(object.etag);
      expect(await found()).toBeUndefined();
      expect((await run("backup", newId())).counts).toMatchObject({ copiedFiles: 0 });
      await env.MEDIA.put(KEY, "9 others ");
      expect(await found()).toBe("etag_differs");
      await env.MEDIA.delete(KEY);
    },
  );
});

describe("a backup by reference, with events from a time on", () => {
  it("lists the files, and is restored to where they are", async () => {
    const id = newId();
    const options = { bytes: "reference", eventsSince: Date.now() + 60_000, keep: null } as const;
    const made = await run("backup", id, { options });
    expect(made.counts).toMatchObject({ events: 0, files: files.length, copiedFiles: 0 });
    expect(await run("verify", id, { options })).toMatchObject({ state: "done", findings: [] });
    const kept = await Promise.all(
      files.map(async (key) => ({ key, bytes: await (await env.MEDIA.get(key))!.bytes() })),
    );
    const ends = await lastSeqs();
    await destroy();
    const [lost, ...rest] = kept;
    for (const { key, bytes } of rest) await env.MEDIA.put(key, bytes);
    const restored = await run("restore", id, { options });
    expect(restored.findings).toEqual([{ kind: "file_missing", subject: lost!.key }]);
    await env.MEDIA.put(lost!.key, lost!.bytes);
    // Logs without events go on behind the last one, so no event gets the number of another.
    expect(Object.values(await everyEvent()).flat()).toEqual([]);
    expect(await lastSeqs()).toEqual(ends);
  });

  async function lastSeqs(): Promise<readonly unknown[]> {
    const { results } = await env.DB.prepare(
      `SELECT owner, event_type AS eventType, incarnation, shards FROM topic ORDER BY name`,
    ).all<TopicAddress & Record<string, unknown>>();
    const stats = await Promise.all(results.map((topic) => logOf(env.TOPIC_LOG, topic, 0).stats()));
    return stats.map((one) => (one.kind === "stats" ? one.lastSeq : one.kind));
  }
});

describe("a table that is larger than its share of a page", () => {
  itAtNight("is read alone, page by page, and restored whole", async () => {
    await destroy();
    await run("restore", whole);
    const held = await everyRow();
    const { pageRows, pageChars } = LIMITS;
    Object.assign(LIMITS, { pageRows: 32, pageChars: 3_000 });
    onTestFinished(() => void Object.assign(LIMITS, { pageRows, pageChars }));
    let pages = 0;
    const id = newId();
    const made = await run("backup", id, {
      async afterStep({ stage, position }) {
        const { after, isAlone } = stage === "directory_tables" && position !== "" ? JSON.parse(position) : {};
        if (isAlone === true && after !== "") pages++;
      },
    });
    expect(made).toMatchObject({ state: "done", error: "" });
    expect(pages).toBeGreaterThan(0);
    expect(await run("verify", id)).toMatchObject({ state: "done", findings: [] });
    await destroy();
    expect(await run("restore", id)).toMatchObject({ state: "done", error: "", findings: [] });
    expect(await everyRow()).toEqual(held);
  });
});

describe("a removal", () => {
  // shows: operator/backup/removal
  it("keeps the newest backups, and every part and copy that they need", async () => {
    const last = newId();
    const made = await run("backup", last, { options: { ...COPY, keep: 1 } });
    expect(made).toMatchObject({ state: "done", error: "" });
    expect(await keysOf(env.BACKUP!, "manifest/")).toEqual([`manifest/${last}.json`]);
    expect(await run("verify", last)).toMatchObject({ findings: [] });
    expect(await run("verify", whole)).toMatchObject({ state: "failed" });
  });

  it("that is cancelled during a step deletes nothing more", async () => {
    const all = await keysOf(env.BACKUP!, "");
    const [kept] = (await keysOf(env.BACKUP!, "manifest/")).map((key) =>
      key.slice("manifest/".length, -".json".length),
    );
    const options = { ...COPY, keep: 1 };
    for (const stage of ["manifests", "sweep_parts", "sweep_copies"]) {
      const removed = stage === "manifests" ? kept! : newId();
      expect(await run("remove", removed, { options, cancelIn: stage })).toMatchObject({ state: "cancelled", stage });
      expect(await keysOf(env.BACKUP!, "")).toEqual(all);
    }
    expect(await run("verify", kept!)).toMatchObject({ state: "done", findings: [] });
    // Its parts may be swept, so a cancelled backup does not become whole.
    await run("backup", newId(), { cancelIn: "manifest" });
    expect(await keysOf(env.BACKUP!, "manifest/")).toEqual([`manifest/${kept}.json`]);
  });

  it("reads every page of the list of backups", async () => {
    const bucket = env.BACKUP!;
    const held = await keysOf(bucket, "manifest/");
    const more = Array.from({ length: 1_001 }, (_, hour) => backupId(Date.UTC(2027, 0) + hour * 3_600_000, "aaaaaaaa"));
    for (let at = 0; at < more.length; at += 50)
      await Promise.all(more.slice(at, at + 50).map((id) => bucket.put(`manifest/${id}.json`, "{}")));
    expect((await createManifestStore(bucket).ids())[0]).toBe(more.at(-1));
    for (let at = 0; at < more.length; at += 500)
      await bucket.delete(more.slice(at, at + 500).map((id) => `manifest/${id}.json`));
    expect(await keysOf(bucket, "manifest/")).toEqual(held);
  });

  it("of the last backup leaves nothing in the bucket", async () => {
    const [key] = await keysOf(env.BACKUP!, "manifest/");
    await run("remove", key!.slice("manifest/".length, -".json".length));
    expect(await keysOf(env.BACKUP!, "")).toEqual([]);
  });
});
