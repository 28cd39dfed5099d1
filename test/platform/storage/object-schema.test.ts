import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openSchema, type ObjectSchema } from "../../../src/platform/storage/object-schema.ts";
import { withRetryAfter } from "../../../src/events/access/request.ts";
import { consumerName, logName, shardsOf } from "../../../src/events/model/topic.ts";
import { sha256Hex } from "../../../src/platform/secrets/hash.ts";
import * as worker from "../../../src/worker.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { makeUser } from "../../support/users.ts";

type Exported = { readonly prototype?: object; readonly schema?: ObjectSchema };
const classes = Object.entries(worker as unknown as Record<string, Exported>).filter(
  ([, exported]) => exported.prototype !== undefined,
);
const namespaceOf = (name: string): DurableObjectNamespace =>
  (env as unknown as Record<string, DurableObjectNamespace>)[
    name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()
  ]!;
const schemaOf = ({ schema }: Exported): ObjectSchema => schema ?? expect.fail("worker.ts exports it as it is");

const NEWER = 99;
/** Stores rows of a later release, with an alarm; empty objects get their table first. */
async function makeNewer(stub: DurableObjectStub, { table }: ObjectSchema): Promise<void> {
  await runInDurableObject(stub, async (_, { storage }) => {
    const { sql } = storage;
    const [found] = sql.exec(`SELECT 1 FROM sqlite_master WHERE name = ?`, table).toArray();
    if (found === undefined) {
      sql.exec(`CREATE TABLE ${table} (schema_version INTEGER NOT NULL, surprise TEXT) STRICT`);
      sql.exec(`INSERT INTO ${table} VALUES (${NEWER}, 'new')`);
    } else sql.exec(`UPDATE ${table} SET schema_version = ${NEWER}`);
    await storage.setAlarm(Date.now() + 3_600_000);
  });
  await evictDurableObject(stub);
}
/** Gives the rows the version of this release again, as if it could read them. */
async function makeOurs(stub: DurableObjectStub, { table, version }: ObjectSchema): Promise<void> {
  await runInDurableObject(
    stub,
    (_, { storage }) => void storage.sql.exec(`UPDATE ${table} SET schema_version = ${version}`),
  );
  await evictDurableObject(stub);
}
async function expectUnavailable(ask: () => Promise<Response>): Promise<void> {
  const answer = await ask();
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
}
const contentOf = (stub: DurableObjectStub, { table }: ObjectSchema) =>
  runInDurableObject(stub, (_, { storage }) => ({
    tables: storage.sql.exec(`SELECT name, sql FROM sqlite_master`).toArray(),
    rows: storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
  }));
const errors = () => vi.spyOn(console, "error").mockImplementation(() => {});

afterEach(async () => {
  vi.restoreAllMocks();
  await runInDurableObject(env.TOPIC_LOG.getByName("schema"), (_, { storage }) => storage.deleteAll());
});

describe("An object that a newer release has written", () => {
  it.each(classes)("of class %s refuses each call, keeps its alarm, and stays as it is", async (name, exported) => {
    const log = errors();
    const schema = schemaOf(exported);
    const stub = namespaceOf(name).getByName(`newer ${name}`);
    await makeNewer(stub, schema);
    const before = await contentOf(stub, schema);

    const methods = [...methodsOf(exported.prototype!)];
    expect(methods.length).toBeGreaterThan(0);
    for (const method of methods) {
      const made = (stub as unknown as Record<string, (address: string) => Promise<unknown>>)[method]!(
        "https://object/",
      );
      const thrown = await made.then(
        () => expect.fail(`${method} was answered`),
        (error: unknown) => error,
      );
      expect(thrown).toMatchObject({
        message: expect.stringContaining(`${name} has schema 99, and this release knows ${schema.version}`),
        retryable: true,
      });
    }
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    const dueInMs = (await runInDurableObject(stub, (_, { storage }) => storage.getAlarm()))! - Date.now();
    expect(dueInMs).toBeGreaterThan(0);
    expect(dueInMs).toBeLessThanOrEqual(60_000);

    expect(await contentOf(stub, schema)).toEqual(before);
    expect(JSON.parse(log.mock.calls[0]![0] as string)).toEqual({
      level: "error",
      event: "object has a newer schema",
      class: name,
      name: `newer ${name}`,
      stored: 99,
      known: schema.version,
    });
  });

  it("makes publishing, reading and committing answer 503 with Retry-After, and loses nothing", async () => {
    errors();
    const client = await makeClient();
    const { clientId: owner } = client;
    const token = await tokenFor(client);
    expect((await call("/pubsub/v1/topics", { token, json: { eventType: "told" } })).status).toBe(201);
    const topic = `/pubsub/v1/topics/${owner}/told`;
    const publish = () => call(`${topic}/publish`, { token, json: { payload: "x" } });
    const read = () => call(`${topic}/read`, { token, json: { numEvents: 1 } });
    await expectJson(await publish(), 201);
    const { token: lock } = await expectJson(await read(), 200);

    const row = await env.DB.prepare("SELECT incarnation, shards FROM topic WHERE owner = ?1").bind(owner).first();
    const { incarnation, shards } = row as { incarnation: string; shards: number };
    const address = { owner, eventType: "told", incarnation, shards };
    const logs = shardsOf(address).map((shard) => env.TOPIC_LOG.getByName(logName(address, shard)));
    await Promise.all(logs.map((log) => makeNewer(log, schemaOf(worker.TopicLog))));
    await expectUnavailable(publish);
    await Promise.all(logs.map((log) => makeOurs(log, schemaOf(worker.TopicLog))));

    const consumer = env.TOPIC_CONSUMER.getByName(consumerName(address, owner));
    await makeNewer(consumer, schemaOf(worker.TopicConsumer));
    const commit = () => call(`${topic}/commit`, { token, json: { token: lock } });
    for (const refused of [read, commit]) await expectUnavailable(refused);
    await makeOurs(consumer, schemaOf(worker.TopicConsumer));
    expect((await commit()).status).toBe(200);
  });

  it("makes sign-in answer 503, so that nobody signs in without being counted", async () => {
    errors();
    const { email: username, password } = await makeUser();
    const form = { grant_type: "password", plat_id_provider: "legacy_idp", username, password };
    await expectJson(await call("/oauth2/v1/token", { form }), 200);
    const account = env.LOGIN_ATTEMPTS.getByName(await sha256Hex(username));
    await makeNewer(account, schemaOf(worker.LoginAttempts));
    await expectUnavailable(() => call("/oauth2/v1/token", { form }));
  });
});

function* methodsOf(prototype: object): Generator<string> {
  for (let at = prototype; at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (!/^(constructor|alarm)$/.test(name)) yield name;
}

describe("An object that still runs an older release", () => {
  it("makes a method that it lacks answer 503 with Retry-After", async () => {
    const stub = env.TOPIC_LOG.getByName("older") as unknown as { methodOfTomorrow(): Promise<never> };
    const ports = { log: heardLog } as Parameters<typeof withRetryAfter>[0];
    const answer = await withRetryAfter(ports, () => stub.methodOfTomorrow());
    expect(answer).toMatchObject({ type: "service_temporarily_unavailable", headers: { "retry-after": "1" } });
  });
});

describe("A schema of objects", () => {
  const stub = () => env.TOPIC_LOG.getByName("schema");
  const run = <T>(use: (storage: DurableObjectStorage) => T) =>
    runInDurableObject(stub(), (_, { storage }) => use(storage));
  const make = (version: number) =>
    run(({ sql }) => {
      sql.exec(`CREATE TABLE thing (schema_version INTEGER NOT NULL, name TEXT) STRICT`);
      sql.exec(`INSERT INTO thing VALUES (?, 'a')`, version);
    });
  const rows = () => run(({ sql }) => sql.exec(`SELECT * FROM thing`).toArray());
  const thing = (version: number, steps: ObjectSchema["steps"] = {}): ObjectSchema => ({
    object: "Thing",
    table: "thing",
    version,
    steps,
  });
  const steps = {
    1: (sql: SqlStorage) => void sql.exec(`ALTER TABLE thing ADD COLUMN colour TEXT`),
    2: (sql: SqlStorage) => void sql.exec(`UPDATE thing SET colour = 'red'`),
  };

  it("takes all steps from the stored version on, once", async () => {
    await make(1);
    await run((storage) => openSchema(storage, thing(3, steps)));
    await run((storage) => openSchema(storage, thing(3, steps)));
    expect(await rows()).toEqual([{ schema_version: 3, name: "a", colour: "red" }]);
  });

  it("takes each step wholly or not at all", async () => {
    await make(1);
    const fails = () => {
      throw new Error("no");
    };
    await run((storage) => expect(() => openSchema(storage, thing(3, { ...steps, 2: fails }))).toThrow("no"));
    expect(await rows()).toEqual([{ schema_version: 1, name: "a" }]);
  });

  it("accepts a version that it does not create", async () => {
    await make(1);
    expect(await run((storage) => openSchema(storage, thing(2)))).toBeUndefined();
    expect(await rows()).toEqual([{ schema_version: 1, name: "a" }]);
  });

  it("reports a version that is newer than its own", async () => {
    await make(4);
    expect(await run((storage) => openSchema(storage, thing(3, steps)))).toBe(4);
  });

  it("drops a table without rows, whose version is unknown", async () => {
    await make(4);
    await run(({ sql }) => void sql.exec(`DELETE FROM thing`));
    expect(await run((storage) => openSchema(storage, thing(1)))).toBeUndefined();
    await expect(rows()).rejects.toThrow("no such table");
  });

  it("treats a table without versions as version 1", async () => {
    await run(({ sql }) => {
      sql.exec(`CREATE TABLE thing (name TEXT)`);
      sql.exec(`INSERT INTO thing VALUES ('a')`);
    });
    expect(await run((storage) => openSchema(storage, thing(1)))).toBeUndefined();
    expect(await rows()).toEqual([{ name: "a" }]);
  });
});
