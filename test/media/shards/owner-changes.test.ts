import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { shardBinding, shardsOf, type Shard } from "../../../src/platform/storage/shards.ts";
import { createMovedStore } from "../../../src/media/shards/moved-store.ts";
import { createDeps } from "../../../src/deps.ts";
import { strideOf } from "../../support/model-runs.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient, type TestClient } from "../../support/platform/clients.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { makeTenant, makeTenantIn } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, shardDb } from "../../support/shards.ts";
import { databaseWith, directoryWith } from "../../support/directory.ts";
import { faultAt } from "../support/faults.ts";

const FILES = "/media/v2/files";
const GRANTS = {
  confidential: true,
  grantTypes: ["client_credentials"],
  scopes: ["plat.media_view", "plat.media_manage", "plat.media_admin"],
};

interface Pending {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
}

/** Sends a request of the client to an isolate that has no cached record of it. */
async function send(client: TestClient, path: string, method: string, json?: object): Promise<Response> {
  const fresh = isolate();
  const { access_token: token } = await (await fresh.token(client)).json<{ access_token: string }>();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fresh.fetch(path, { method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) });
}

async function pending(client: TestClient): Promise<Pending> {
  const file = await expectJson<Pending>(await send(client, FILES, "POST", { "Content-Type": "text/plain" }), 200);
  const put = await call(file.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "text/plain" } });
  expect(put.status).toBe(200);
  return file;
}

const commit = async ({ commitLink }: Pending, client: TestClient): Promise<number> =>
  (await send(client, commitLink, "POST")).status;

/** Deletes a file of the client, and returns the address of the report. */
async function report(client: TestClient): Promise<string> {
  const { id } = await pending(client);
  return (await send(client, `${FILES}/${id}`, "DELETE")).headers.get("location") ?? "";
}

/** Sends a request of the operator to an isolate with other bindings. */
async function operate(bindings: object, method: string, path: string, json?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return isolate(bindings).fetch(`/admin/v1/${path}`, { method, headers, ...body });
}

/** Makes a client with a pending file in another shard, and a PUT that gives the client a name. */
async function renamable(of?: string) {
  const tenant = of ?? (await makeTenantIn(1));
  const client = await makeClient({ tenant });
  const put = (bindings: object, name: string) =>
    operate(bindings, "PUT", `clients/${client.clientId}`, { ...GRANTS, tenant, name });
  return { tenant, client, file: await pending(client), put };
}

const closings = () => everywhere.prepare("SELECT count(*) AS n FROM closing").first<number>("n");
const endLeft = () => createDeps(env).media.sweep(Date.now() + 3_600_000 / 2);
/** Runs a PUT that breaks off after its write in the directory, so that no shard carries it out. */
async function breakOff(
  put: (bindings: object) => Promise<Response>,
  column: "name" | "tenant",
  value: string,
  left = 4,
): Promise<void> {
  const written = env.DB.prepare(`SELECT 1 FROM client WHERE ${column} = ?`).bind(value);
  const failing = ({ number, db }: Shard): Shard => ({
    number,
    db: databaseWith(db, {
      async batch(statements) {
        if ((await written.first()) !== null) throw new Error("injected");
        return db.batch(statements);
      },
    }),
  });
  expect((await put(bindingsOf(shardsOf(env).map(failing)))).status).toBe(200);
  expect(await closings()).toBe(left);
}
const breakOffName = (put: (bindings: object, name: string) => Promise<Response>, name: string, left?: number) =>
  breakOff((bindings) => put(bindings, name), "name", name, left);

const RECORD = "SELECT name, tenant FROM client WHERE id = ?1";
const NAME = "SELECT 1 FROM client WHERE name = ?1";

/** Returns the directory, which runs `meanwhile` before or after it answers this statement for the nth time. */
function duringLook(sql: string, nth: number, when: "before" | "after", meanwhile: () => Promise<unknown>): D1Database {
  let looks = 0;
  return directoryWith({
    prepare(asked) {
      const real = env.DB.prepare(asked);
      if (asked !== sql || (looks += 1) !== nth) return real;
      const all = (bound: D1PreparedStatement) => async () => {
        if (when === "before") await meanwhile();
        const found = await bound.all();
        if (when === "after") await meanwhile();
        return found;
      };
      return { bind: (...values: unknown[]) => ({ all: all(real.bind(...values)) }) };
    },
  });
}

const bindingsOf = (shards: readonly Shard[]) =>
  Object.fromEntries(shards.map(({ number, db }) => [shardBinding(number), db]));

describe("a client whose files lie in another shard than the directory", () => {
  // shows: operator/shards/owners
  it("cannot be deleted, renamed or moved while a file is committed there", async () => {
    const client = await makeClient({ tenant: await makeTenantIn(2) });
    const file = await pending(client);
    expect(await commit(file, client)).toBe(202);
    const path = `clients/${client.clientId}`;
    for (const json of [
      undefined,
      { ...GRANTS, tenant: client.tenant, name: `${client.tenant}.${unique("n")}` },
      { ...GRANTS, tenant: await makeTenant() },
    ])
      expect((await operate({}, json === undefined ? "DELETE" : "PUT", path, json)).status).toBe(409);
    expect(await closings()).toBe(0);
  });

  it("commits nothing while it is being deleted: 503, and 404 after it", async () => {
    const client = await makeClient({ tenant: await makeTenantIn(1) });
    const file = await pending(client);
    const token = await tokenFor(client);
    let meanwhile = 0;
    const db = directoryWith({
      async batch(statements) {
        // The shards are closed before the transaction that deletes the client.
        if ((await closings()) === 4 && meanwhile === 0)
          meanwhile = (await call(file.commitLink, { token, method: "POST" })).status;
        return env.DB.batch(statements);
      },
    });
    expect((await operate({ DB: db }, "DELETE", `clients/${client.clientId}`)).status).toBe(204);
    expect([meanwhile, await closings()]).toEqual([503, 0]);
    const owners = everywhere.prepare("SELECT count(*) AS n FROM owner WHERE client = ?").bind(client.clientId);
    expect(await owners.first("n")).toBe(0);
  });

  it.each(["before", "after"] as const)(
    "has the same files and one name, whichever call of a database fails %s it is done in a rename",
    async (when) => {
      const tenant = await makeTenantIn(3);
      const faults = faultAt();
      for (let number = 0; ; number += strideOf(13)) {
        const client = await makeClient({ tenant });
        const file = await pending(client);
        const name = `${tenant}.${unique("n")}`;
        const json = { ...GRANTS, tenant, name };
        await tokenFor(OPERATOR);
        faults.arm(number, when);
        const answer = await operate(bindingsOf(faults.shards), "PUT", `clients/${client.clientId}`, json);
        const isOver = faults.seen() <= number;
        faults.arm(Infinity, when);
        await endLeft();
        expect([number, await closings()]).toEqual([number, 0]);
        const shown = await call(`/admin/v1/clients/${client.clientId}`, { token: await tokenFor(OPERATOR) });
        const is = (await expectJson(shown, 200)).name;
        if (answer.status === 200) expect(is).toBe(name);
        const owners = everywhere.prepare("SELECT client FROM owner WHERE client IN (?1, ?2) AND tenant = ''");
        const found = await owners.bind(client.clientId, name).all<{ client: string }>();
        expect([number, found.results]).toEqual([number, [{ client: is }]]);
        expect([number, await commit(file, client)]).toEqual([number, 202]);
        if (isOver) return;
      }
    },
    120_000,
  );

  it("keeps its files if another rename ends before the closing of its owner: 503 for the later one", async () => {
    const { tenant, client, file, put: rename } = await renamable();
    const [first, second] = [`${tenant}.${unique("n")}`, `${tenant}.${unique("n")}`];
    let isClosing = false;
    let earlier: Promise<Response> | undefined;
    const late = ({ number, db }: Shard): Shard => ({
      number,
      db: databaseWith(db, {
        prepare(sql) {
          isClosing ||= sql.startsWith("INSERT INTO closing");
          return db.prepare(sql);
        },
        async batch(statements) {
          if (isClosing) expect((await (earlier ??= rename({}, first))).status).toBe(200);
          return db.batch(statements);
        },
      }),
    });
    expect((await rename(bindingsOf(shardsOf(env).map(late)), second)).status).toBe(503);
    const token = await tokenFor(OPERATOR);
    expect((await expectJson(await call(`/admin/v1/clients/${client.clientId}`, { token }), 200)).name).toBe(first);
    expect([await closings(), await commit(file, client)]).toEqual([0, 202]);
    expect((await rename({}, second)).status).toBe(409);
  });

  it("keeps its files if a rename ends before a PUT with the earlier name writes: 503 for the PUT", async () => {
    const { tenant, client, file, put } = await renamable();
    let looks = 0;
    let rename: Promise<Response> | undefined;
    const late = directoryWith({
      prepare(sql) {
        if (sql === RECORD) looks += 1;
        return env.DB.prepare(sql);
      },
      async batch(statements) {
        // The rules look at the record by a statement of their own.
        if (looks === 1) expect((await (rename ??= put({}, `${tenant}.${unique("n")}`))).status).toBe(200);
        return env.DB.batch(statements);
      },
    });
    expect((await put({ DB: late }, client.clientId)).status).toBe(503);
    expect([await closings(), await commit(file, client)]).toEqual([0, 202]);
  });

  it("keeps the files and reports that it makes under a new name before the sweep ends a rename that broke off", async () => {
    const { tenant, client, file, put } = await renamable();
    const reports = [await report(client)];
    await breakOffName(put, `${tenant}.${unique("n")}`);
    const files = [file, await pending(client)];
    reports.push(await report(client));
    expect(await commit(file, client)).toBe(503);
    await endLeft();
    expect(await closings()).toBe(0);
    for (const address of reports) expect((await send(client, address, "GET")).status).toBe(200);
    for (const one of files) expect(await commit(one, client)).toBe(202);
  });

  it("commits again where shards answer, if a rename broke off and another shard is down", async () => {
    const { tenant, client, file, put } = await renamable();
    await breakOffName(put, `${tenant}.${unique("n")}`);
    const refuse = () => Promise.reject(new Error("down"));
    const statement = { bind: () => statement, first: refuse, all: refuse, run: refuse };
    const shards = shardsOf(env).map(({ number, db }) => ({
      number,
      db: number === 2 ? databaseWith(db, { prepare: () => statement, batch: refuse }) : db,
    }));
    const { media } = createDeps({ ...env, ...bindingsOf(shards) });
    await expect(media.sweep(Date.now() + 3_600_000 / 2)).rejects.toThrow("down");
    expect([await closings(), await commit(file, client)]).toEqual([1, 202]);
    await endLeft();
    expect(await closings()).toBe(0);
  });

  it("gets a file that was on its way to another shard, and arrives there late with the name before", async () => {
    const { tenant, client, file, put } = await renamable();
    const [from, to] = [createMovedStore(shardDb(1), 1), createMovedStore(shardDb(2), 2)];
    const caller = { client: client.clientId, visibility: "private", tenant, isPerson: false } as const;
    const left = await from.leave(file.id, caller, undefined, 2, Date.now());
    expect((await put({}, `${tenant}.${unique("n")}`)).status).toBe(200);
    await to.arrive([left!], Date.now());
    await from.arrived([left!]);
    await endLeft();
    expect([await closings(), await commit(file, client)]).toEqual([0, 202]);
  });

  it("gets a file that arrives with the name before where the rename ended, while it did not where it left", async () => {
    const { tenant, client, file, put } = await renamable();
    const from = createMovedStore(shardDb(1), 1);
    const caller = { client: client.clientId, visibility: "private", tenant, isPerson: false } as const;
    await from.leave(file.id, caller, undefined, 2, Date.now());
    const name = `${tenant}.${unique("n")}`;
    await breakOffName(
      (bindings, given) => put({ [shardBinding(1)]: Reflect.get(bindings, shardBinding(1)) }, given),
      name,
      1,
    );
    expect([await closings(), await commit(file, client)]).toEqual([1, 503]);
    await endLeft();
    expect([await closings(), await commit(file, client)]).toEqual([0, 202]);
  });

  it("keeps the files that it makes under each name if two renames break off", async () => {
    const { tenant, client, file, put } = await renamable();
    const files = [file];
    for (let renames = 0; renames < 2; renames++) {
      await breakOffName(put, `${tenant}.${unique("n")}`);
      files.push(await pending(client));
    }
    await endLeft();
    expect(await closings()).toBe(0);
    for (const one of files) expect(await commit(one, client)).toBe(202);
  });

  it.each([false, true])(
    "keeps only the new files if its change of tenant breaks off (also renamed: %s)",
    async (and) => {
      const { client, file } = await renamable();
      // A platform's clock moves on between two requests.
      await scheduler.wait(2);
      const tenant = await makeTenantIn(1);
      const name = and ? `${tenant}.${unique("n")}` : client.clientId;
      const json = { ...GRANTS, tenant, name };
      const put = (bindings: object) => operate(bindings, "PUT", `clients/${client.clientId}`, json);
      await breakOff(put, "tenant", tenant);
      const made = await pending(client);
      await endLeft();
      expect([await closings(), await commit(file, client), await commit(made, client)]).toEqual([0, 404, 202]);
    },
  );

  it("takes the name of a client whose rename broke off: each has its own files", async () => {
    const [one, other] = [await renamable(), await renamable(await makeTenantIn(2))];
    await breakOffName(one.put, `${one.tenant}.${unique("n")}`);
    expect((await other.put({}, one.client.clientId)).status).toBe(200);
    await endLeft();
    expect(await commit(one.file, other.client)).toBe(404);
    for (const { file, client } of [one, other]) expect(await commit(file, client)).toBe(202);
  });

  it("gets nothing that an earlier client of its new name left", async () => {
    const { tenant, client, file, put } = await renamable();
    const name = `${tenant}.${unique("n")}`;
    const earlier = await makeClient({ tenant, name });
    const left = await pending(earlier);
    const address = await report(earlier);
    const rows = everywhere.prepare("UPDATE owner SET client = ?2 WHERE client = ?1 AND tenant = ''");
    const requesters = everywhere.prepare("UPDATE requester SET client = ?2 WHERE client = ?1");
    // As if its last tokens had made them after its deletion.
    for (const statement of [rows, requesters]) await statement.bind(name, `${name}.kept`).run();
    expect((await operate({}, "DELETE", `clients/${earlier.clientId}`)).status).toBe(204);
    for (const statement of [rows, requesters]) await statement.bind(`${name}.kept`, name).run();
    expect((await put({}, name)).status).toBe(200);
    expect([await commit(left, client), await commit(file, client)]).toEqual([404, 202]);
    expect((await send(client, address, "GET")).status).toBe(404);
  });

  it("is refused a name under which a token of before a rename committed a file", async () => {
    const { tenant, client, put } = await renamable();
    const given = client.clientId;
    const file = await pending(client);
    const old = isolate();
    const { access_token: token } = await (await old.token(client)).json<{ access_token: string }>();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const post = (path: string, json: object) =>
      old.fetch(path, { method: "POST", headers, body: JSON.stringify(json) });
    const make = () => post(FILES, { "Content-Type": "text/plain" });
    // From here on, this isolate has a copy of the client's record.
    expect((await make()).status).toBe(200);
    expect((await put({}, `${tenant}.${unique("n")}`)).status).toBe(200);
    const late = await expectJson<Pending>(await make(), 200);
    await call(late.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "text/plain" } });
    expect((await post(late.commitLink, {})).status).toBe(202);
    const next = `clients/${tenant}.${unique("app")}`;
    const refused = await operate({}, "PUT", next, { ...GRANTS, tenant, name: given });
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({
      type: "conflict_resource",
      details: [{ type: "in_use", field: "files", message: expect.stringContaining(`${given} and the tenant`) }],
    });
    expect((await operate({}, "PUT", next, { ...GRANTS, tenant, name: `${given}2` })).status).toBe(201);
    expect(await commit(file, client)).toBe(202);
  });

  it.each([
    [RECORD, 1, "after"],
    [NAME, 1, "before"],
    [NAME, 1, "after"],
  ] as const)("keeps its files if another one is about to take its name (%s, %i, %s): 409", async (sql, nth, when) => {
    const { tenant, client, file, put } = await renamable();
    for (const take of [
      put,
      (bindings: object, name: string) =>
        operate(bindings, "PUT", `clients/${tenant}.${unique("app")}`, { ...GRANTS, tenant, name }),
    ]) {
      const name = `${tenant}.${unique("n")}`;
      let owner: TestClient | undefined;
      let kept: Pending | undefined;
      const late = duringLook(sql, nth, when, async () => {
        owner = await makeClient({ tenant, name });
        kept = await pending(owner);
      });
      expect((await take({ DB: late }, name)).status).toBe(409);
      expect(await commit(kept!, owner!)).toBe(202);
    }
    expect([await closings(), await commit(file, client)]).toEqual([0, 202]);
  });

  it("leaves nothing to the next client of its name, even if its deletion was not ended in the shard", async () => {
    const tenant = await makeTenantIn(2);
    const client = await makeClient({ tenant });
    const file = await pending(client);
    const [, , shard] = shardsOf(env);
    let isClosed = false;
    const failing = new Proxy(shard!.db, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as (...args: unknown[]) => unknown;
        if (name !== "batch") return value.bind(target);
        return async (...args: unknown[]) => {
          if (isClosed) throw new Error("injected");
          const answered = await value.apply(target, args);
          isClosed = (await closings()) !== 0;
          return answered;
        };
      },
    });
    expect((await operate({ [shardBinding(2)]: failing }, "DELETE", `clients/${client.clientId}`)).status).toBe(204);
    expect(await closings()).toBe(1);
    const next = await makeClient({ tenant, clientId: client.clientId });
    expect([await closings(), await commit(file, next)]).toEqual([0, 404]);
  });
});

describe("a tenant of another shard", () => {
  it("is kept while it has files, and its deletion leaves no closing", async () => {
    const tenant = await makeTenantIn(1);
    const client = await makeClient({ tenant });
    const file = await pending(client);
    expect(await commit(file, client)).toBe(202);
    const refused = await operate({}, "DELETE", `tenants/${tenant}`);
    expect(refused.status).toBe(409);
    const lone = await makeTenantIn(1, { subscribed: false });
    expect((await operate({}, "DELETE", `tenants/${lone}`)).status).toBe(204);
    expect(await closings()).toBe(0);
  });
});
