import { describe, expect, it } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { unique } from "../../support/platform/unique.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";

/** These tests use a client that keeps the files of people apart. */
const app = mediaApp();
const PICTURE = await encodePng(gradient(8, 8));

function cast() {
  const tenant = unique("tenant");
  const client = principal({ tenant });
  app.apart.add(client.clientId);
  const person = (name: string): Principal => ({ ...client, tenantExplicit: true, user: name, subject: name });
  return { tenant, client, ada: person(`${unique("ada")}@x.example`), bob: person(`${unique("bob")}@x.example`) };
}

const store = (as: Principal, metadata: unknown = {}) => stored(app, PICTURE, { as, metadata, query: "?clip=4x4" });
const idsOf = async (as: Principal, query = ""): Promise<string[]> =>
  (await expectJson(await app.call(`${collection()}?tenant=${as.tenant}${query}`, { as }), 200)).map(
    ({ id }: { id: string }) => id,
  );

describe("a client that keeps people's files apart", () => {
  it("gives a file to the person whose token created it, and to itself", async () => {
    const { client, ada, bob } = cast();
    const { id, path } = await store(ada);
    for (const as of [ada, client]) expect((await app.call(path, { as })).status).toBe(200);
    const calls: readonly (readonly [string, string, unknown?])[] = [
      [path, "GET"],
      [`${path}/metadata`, "GET"],
      [`${path}/metadata`, "PUT", {}],
      [`${path}/variants`, "GET"],
      [`${path}/variants?crop=2x2`, "POST"],
      [`${path}/variants`, "DELETE"],
      [`${path}/commit`, "POST", {}],
      [path, "DELETE"],
    ];
    for (const [address, method, json] of calls)
      await expectProblem(await app.call(address, { as: bob, method, json }), 404, "element_resource_non_existing");
    expect([await idsOf(ada), await idsOf(bob), await idsOf(client)]).toEqual([[id], [], [id]]);
    expect((await app.call(path, { as: ada, method: "DELETE" })).status).toBe(204);
  });

  it("hides its own files from people", async () => {
    const { client, ada } = cast();
    const { path } = await store(client);
    await expectProblem(await app.call(path, { as: ada }), 404, "element_resource_non_existing");
    expect(await idsOf(ada)).toEqual([]);
  });

  it("searches among the person's own files, after a change of metadata too", async () => {
    const { ada, bob } = cast();
    const { id, path } = await store(ada, { color: "red" });
    await store(bob, { color: "red" });
    expect(await idsOf(ada, "&q=color:red&sort=color")).toEqual([id]);
    await expectJson(await app.call(`${path}/metadata`, { as: ada, method: "PUT", json: { color: "blue" } }), 200);
    expect([await idsOf(ada, "&q=color:blue"), await idsOf(bob, "&q=color:blue")]).toEqual([[id], []]);
  });

  it.each(["", "&q=color:red"])("deletes only the person's own files, %j", async (query) => {
    const { client, ada, bob } = cast();
    await store(ada, { color: "red" });
    const kept = [(await store(bob, { color: "red" })).id, (await store(client, { color: "red" })).id];
    const path = `${collection()}?tenant=${ada.tenant}${query}`;
    expect(await expectJson(await app.call(`${path}&dryRun=true`, { as: ada, method: "DELETE" }), 200)).toMatchObject({
      files: 1,
    });
    expect((await app.call(path, { as: ada, method: "DELETE" })).status).toBe(query === "" ? 202 : 204);
    expect(await idsOf(client)).toEqual(kept.toSorted());
    expect(await idsOf(ada)).toEqual([]);
  });

  it("makes variants only of the person's own images", async () => {
    const { ada, bob } = cast();
    await store(ada);
    await store(bob);
    const made = await app.call(`/media/v2/bulk/variants?tenant=${ada.tenant}&crop=2x2`, { as: ada, method: "POST" });
    expect(await expectJson(made, 202)).toEqual({ files: 1, transformations: 1 });
  });

  it("lets a person share a file with the tenant", async () => {
    const { ada, bob } = cast();
    const created = await expectJson(await app.call(collection(), { as: ada, method: "POST" }), 200);
    const headers = { "content-type": "binary/octet-stream", "content-length": "1" };
    expect((await app.call(created.uploadLink, { method: "PUT", body: "x", headers })).status).toBe(200);
    await expectJson(await app.call(`${created.commitLink}?shared=tenant`, { as: ada, json: {} }), 202);
    expect((await app.call(`${collection()}/${created.id}`, { as: bob })).status).toBe(200);
    expect([await idsOf(bob), await idsOf(bob, "&shared=tenant")]).toEqual([[], [created.id]]);
  });
});
