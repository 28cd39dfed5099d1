import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { shardBinding, shardsOf, type Shard } from "../../../src/platform/storage/shards.ts";
import { createDeps } from "../../../src/deps.ts";
import { strideOf } from "../../support/model-runs.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient, type TestClient } from "../../support/platform/clients.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { makeTenant, makeTenantIn } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere } from "../../support/shards.ts";
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

async function pending(client: TestClient): Promise<Pending> {
  const token = await tokenFor(client);
  const json = { "Content-Type": "text/plain" };
  const file = await expectJson<Pending>(await call(FILES, { token, method: "POST", json }), 200);
  const put = await call(file.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "text/plain" } });
  expect(put.status).toBe(200);
  return file;
}

/** Commits on an isolate that has no cached record of the client. */
async function commit({ commitLink }: Pending, client: TestClient): Promise<number> {
  const fresh = isolate();
  const { access_token: token } = await (await fresh.token(client)).json<{ access_token: string }>();
  return (await fresh.fetch(commitLink, { method: "POST", headers: { authorization: `Bearer ${token}` } })).status;
}

/** Sends a request of the operator to an isolate with other bindings. */
async function operate(bindings: object, method: string, path: string, json?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return isolate(bindings).fetch(`/admin/v1/${path}`, { method, headers, ...body });
}

/** Makes a client with a pending file in another shard, and a PUT that gives the client a name. */
async function renamable() {
  const tenant = await makeTenantIn(1);
  const client = await makeClient({ tenant });
  const put = (bindings: object, name: string) =>
    operate(bindings, "PUT", `clients/${client.clientId}`, { ...GRANTS, tenant, name });
  return { tenant, client, file: await pending(client), put };
}

const closings = () => everywhere.prepare("SELECT count(*) AS n FROM closing").first<number>("n");
const endLeft = () => createDeps(env).media.sweep(Date.now() + 3_600_000 / 2);
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
      for (let number = 0; ; number += strideOf(7)) {
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
        if (sql === "SELECT name, tenant FROM client WHERE id = ?1") looks += 1;
        return env.DB.prepare(sql);
      },
      async batch(statements) {
        // The rules look at the record first, and the change itself does so second.
        if (looks === 2) expect((await (rename ??= put({}, `${tenant}.${unique("n")}`))).status).toBe(200);
        return env.DB.batch(statements);
      },
    });
    expect((await put({ DB: late }, client.clientId)).status).toBe(503);
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
