import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/media/model/limits.ts";
import { isolate, type Isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { ALL_SCOPES, makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { keysOf } from "./support/keys-of.ts";
import { mediaApp } from "./support/media-app.ts";
import { everywhere } from "../support/shards.ts";

/**
 * Pending files and reports of deletions belong to a client by its name. They follow a rename, and the next client of
 * the old name does not get them.
 */
const FILES = "/media/v2/public/files";
const TYPE = { "content-type": "text/plain" };

const body = (tenant: string, name?: string) => ({
  tenant,
  confidential: true,
  grantTypes: ["client_credentials"],
  scopes: ALL_SCOPES,
  ...(name === undefined ? {} : { name }),
});
const change = ({ clientId }: TestClient, tenant: string, name?: string) =>
  put(`clients/${clientId}`, body(tenant, name));
const remove = async ({ clientId }: TestClient): Promise<void> => {
  const answer = await call(`/admin/v1/clients/${clientId}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
  expect(answer.status).toBe(204);
};
const newName = () => `${unique("n")}.renamed`;

interface Made {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
}

const create = async (client: TestClient): Promise<Made> =>
  expectJson<Made>(await call(FILES, { token: await tokenFor(client), json: { "Content-Type": "text/plain" } }), 200);
const upload = ({ uploadLink }: Made) => call(uploadLink, { method: "PUT", body: "x", headers: TYPE });

/** Makes a file that is uploaded but not committed. */
async function pending(client: TestClient): Promise<Made> {
  const file = await create(client);
  expect((await upload(file)).status).toBe(200);
  return file;
}

const commit = async ({ commitLink }: Made, client: TestClient): Promise<number> =>
  (await call(commitLink, { token: await tokenFor(client), method: "POST" })).status;
const deletion = async ({ id }: Made, client: TestClient): Promise<Response> =>
  call(`${FILES}/${id}`, { token: await tokenFor(client), method: "DELETE" });

/** Ways for a client to lose its name or be deleted. */
const CHANGES: readonly [string, (client: TestClient, tenant: string) => Promise<TestClient>][] = [
  [
    "renamed, and the name taken by a new client",
    async (client, tenant) => {
      await change(client, client.tenant, newName());
      return makeClient({ tenant, name: client.clientId });
    },
  ],
  [
    "renamed, and the name taken by a client that was there",
    async (client, tenant) => {
      const other = await makeClient({ tenant });
      await change(client, client.tenant, newName());
      await change(other, tenant, client.clientId);
      return other;
    },
  ],
  [
    "deleted, and made again under its id",
    async (client, tenant) => {
      await remove(client);
      return makeClient({ tenant, clientId: client.clientId });
    },
  ],
];

describe("a pending file", () => {
  // shows: media/ownership/somebody-else-s
  it.each(CHANGES)("does not pass to the next client of the same name (client %s)", async (_, give) => {
    for (const isForeign of [true, false]) {
      const client = await makeClient();
      const [file, notUploaded] = [await pending(client), await create(client)];
      const next = await give(client, isForeign ? await makeTenant() : client.tenant);
      for (const one of [file, notUploaded]) expect(await commit(one, next)).toBe(404);
      expect((await deletion(file, next)).status).toBe(404);
    }
  });

  it("belongs to its client under the new name, with the same links", async () => {
    const client = await makeClient();
    const [file, notUploaded] = [await pending(client), await create(client)];
    for (const name of [client.clientId, newName(), newName()]) await change(client, client.tenant, name);
    expect((await upload(notUploaded)).status).toBe(200);
    for (const one of [file, notUploaded]) expect(await commit(one, client)).toBe(202);
  });

  it.each([
    ["another tenant", async (client: TestClient) => change(client, await makeTenant())],
    ["another tenant and name", async (client: TestClient) => change(client, await makeTenant(), newName())],
  ])("does not follow its client to %s: upload and commit return 404", async (_, move) => {
    const client = await makeClient();
    const [file, notUploaded] = [await pending(client), await create(client)];
    await move(client);
    expect((await upload(notUploaded)).status).toBe(404);
    for (const one of [file, notUploaded]) expect(await commit(one, client)).toBe(404);
  });

  it("ends with its client: the upload link stops working, and row and bytes are deleted within a day", async () => {
    const client = await makeClient();
    const [file, notUploaded] = [await pending(client), await create(client)];
    await remove(client);
    expect((await upload(notUploaded)).status).toBe(404);
    expect(await keysOf(notUploaded.id)).toEqual([]);
    const rows = async () =>
      (await everywhere.prepare("SELECT state, purged_at FROM file WHERE id = ?").bind(file.id).all()).results;
    const { media } = mediaApp();
    const dayOverMs = Date.now() + LIMITS.uncommittedTtlMs;
    await media.sweep(dayOverMs);
    expect(await keysOf(file.id)).toEqual([]);
    expect(await rows()).toEqual([{ state: "removed", purged_at: dayOverMs }]);
    await media.sweep(dayOverMs + LIMITS.lastWriteMs);
    expect(await rows()).toEqual([]);
  });

  it("ends with its client during an upload: 404, and nothing is stored", async () => {
    const client = await makeClient();
    const file = await create(client);
    const bucket = before(env.MEDIA, "put", async () => {
      await remove(client);
      // A short upload leaves its bytes to the sweep.
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1_000 });
    });
    const answer = await isolate({ MEDIA: bucket }).fetch(pathOf(file.uploadLink), {
      method: "PUT",
      body: "x",
      headers: TYPE,
    });
    vi.useRealTimers();
    expect([answer.status, await keysOf(file.id)]).toEqual([404, []]);
  });

  it("is not found by a commit under the old name after a rename; a token of the new name commits it", async () => {
    const client = await makeClient();
    const file = await pending(client);
    const db = before(env.DB, "batch", () => change(client, client.tenant, newName()));
    const answer = await asOf(isolate({ DB: db }), file.commitLink, "POST", await tokenFor(client));
    expect(answer.status).toBe(404);
    expect(await commit(file, client)).toBe(202);
  });

  it("does not pass to the next client by a token of another isolate that is still valid for seconds", async () => {
    const client = await makeClient();
    const slow = isolate();
    const token = await tokenFor(client);
    // This request refreshes the isolate's copy of revocations.
    expect((await asOf(slow, FILES, "POST", token)).status).toBe(200);
    await change(client, client.tenant, newName());
    const file = await expectJson<Made>(await asOf(slow, FILES, "POST", token), 200);
    const next = await makeClient({ tenant: client.tenant, name: client.clientId });
    expect(await commit(file, next)).toBe(404);
    const bytes = { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } };
    expect((await call(file.uploadLink, bytes)).status).toBe(404);
  });
});

describe("a report of a deletion", () => {
  /** Deletes a pending file, and returns the `Location` of the report. */
  const report = async (client: TestClient): Promise<string> => {
    const deleted = await deletion(await pending(client), client);
    expect(deleted.status).toBe(204);
    return deleted.headers.get("location")!;
  };
  const read = async (location: string, client: TestClient): Promise<Response> =>
    call(location, { token: await tokenFor(client) });
  const listed = async ({ tenant }: TestClient, client: TestClient): Promise<string[]> => {
    const answer = await call(`/media/v2/erasures?tenant=${tenant}`, { token: await tokenFor(client) });
    return (await expectJson<{ id: string }[]>(answer, 200)).map(({ id }) => id);
  };
  const idOf = (location: string): string => location.split("/").at(-1)!;

  it("has the tenant of the caller, for committed and pending files, and is listed there", async () => {
    const client = await makeClient();
    const location = await report(client);
    expect(await expectJson(await read(location, client), 200)).toMatchObject({ tenant: client.tenant, kind: "file" });
    expect(await listed(client, client)).toEqual([idOf(location)]);
  });

  it("follows each rename of its client", async () => {
    const client = await makeClient();
    const locations = [await report(client)];
    for (const name of [newName(), newName(), client.clientId]) {
      await change(client, client.tenant, name);
      locations.push(await report(client));
      for (const location of locations) expect((await read(location, client)).status).toBe(200);
      expect((await listed(client, client)).toSorted()).toEqual(locations.map(idOf).toSorted());
    }
  });

  // shows: media/ownership/somebody-else-s
  it.each(CHANGES)(
    "does not pass to the next client of the same name, even in the same tenant (client %s)",
    async (_, give) => {
      const client = await makeClient();
      const location = await report(client);
      const next = await give(client, client.tenant);
      expect((await read(location, next)).status).toBe(404);
      expect(await listed(client, next)).toEqual([]);
      const own = await report(next);
      expect(await listed(client, next)).toEqual([idOf(own)]);
    },
  );
});

const pathOf = (address: string): string => {
  const { pathname, search } = new URL(address, "https://any.example");
  return `${pathname}${search}`;
};

const asOf = (place: Isolate, address: string, method: string, token: string): Promise<Response> =>
  place.fetch(pathOf(address), { method, headers: { authorization: `Bearer ${token}` } });

/** Returns a binding that runs `act` once, before the first call of this method. */
function before<T extends object>(binding: T, method: keyof T, act: () => Promise<unknown>): T {
  let acted = false;
  return new Proxy(binding, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as (...args: unknown[]) => unknown;
      if (name !== method) return value.bind(target);
      return async (...args: unknown[]) => {
        if (!acted) {
          acted = true;
          await act();
        }
        return value.apply(target, args);
      };
    },
  });
}
