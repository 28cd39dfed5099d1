import { describe, expect, it } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { unique } from "../../support/platform/unique.ts";
import { mediaApp, type MediaCall } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, uploaded, type StoredFile } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";

/** These tests share files among the clients of a tenant. `outsiders` serve the tenant and do not belong to it. */
const outsiders = new Set<string>();
const app = mediaApp({
  access: {
    servesOthers: async (clientId) => outsiders.has(clientId),
    mayActFor: async ({ clientId }) => outsiders.has(clientId),
    listsScope: async () => false,
    tenantUses: async () => true,
    belongsTo: async (clientId) => !outsiders.has(clientId),
    keepsUsersApart: async () => false,
    isLive: async () => true,
  },
});
const PICTURE = await encodePng(gradient(8, 8));
const VISIBILITIES = ["private", "public"] as const;

async function commitOf(file: StoredFile, as: Principal, metadata: unknown, shared: boolean): Promise<StoredFile> {
  const link = `${file.commitLink}${shared ? "?shared=tenant" : ""}`;
  await expectJson(await app.call(link, { as, json: metadata }), 202);
  await app.settle();
  return file;
}

async function store(
  as: Principal,
  { visibility = "private", metadata = {}, shared = true }: Partial<Options> = {},
): Promise<StoredFile> {
  return commitOf(await uploaded(app, PICTURE, { as, visibility, query: "?clip=4x4" }), as, metadata, shared);
}
interface Options {
  readonly visibility: (typeof VISIBILITIES)[number];
  readonly metadata: unknown;
  readonly shared: boolean;
}

/** Returns the owner, other clients of its tenant with different scopes, and clients that must not see the files. */
function cast() {
  const tenant = unique("tenant");
  const owner = principal({ tenant });
  const with_ = (...scopes: readonly string[]) =>
    principal({ tenant, scopes: scopes.map((scope) => `plat.media_${scope}`) });
  const server = principal({ tenant });
  outsiders.add(server.clientId);
  return {
    tenant,
    owner,
    reader: with_("view"),
    manager: with_("view", "manage"),
    blind: with_("manage"),
    admin: with_("view", "manage", "admin"),
    strangers: [principal({ tenant: unique("tenant") }), server],
  };
}

const asks = (file: StoredFile): Record<string, readonly [string, MediaCall, number]> => ({
  metadata: [`${file.path}/metadata`, {}, 200],
  variants: [`${file.path}/variants`, {}, 200],
});
const changes = (file: StoredFile): Record<string, readonly [string, MediaCall, number]> => ({
  describe: [`${file.path}/metadata`, { method: "PUT", json: { color: "blue" } }, 200],
  "add variants": [`${file.path}/variants?crop=2x2`, { method: "POST" }, 200],
  "delete variants": [`${file.path}/variants?crop=2x2`, { method: "DELETE" }, 204],
  delete: [file.path, { method: "DELETE" }, 204],
});

describe.each(VISIBILITIES)("a shared %s file", (visibility) => {
  it("is read by clients of its tenant, and by nobody else's", async () => {
    const { owner, reader, strangers } = cast();
    const file = await store(owner, { visibility });
    const reads = Object.values(asks(file));
    if (visibility === "private") reads.push([file.path, {}, 200]);
    for (const [path, call, status] of reads) {
      expect((await app.call(path, { ...call, as: reader })).status, path).toBe(status);
      for (const as of strangers)
        await expectProblem(await app.call(path, { ...call, as }), 404, "element_resource_non_existing");
    }
  });

  it("is changed by a client of its tenant with the scope to administer files", async () => {
    const { owner, admin, manager, blind, strangers } = cast();
    const file = await store(owner, { visibility });
    for (const [name, [path, call, status]] of Object.entries(changes(file))) {
      const refused = await app.call(path, { ...call, as: manager });
      expect((await expectProblem(refused, 403, "insufficient_permissions")).message).toContain("plat.media_admin");
      for (const as of [blind, ...strangers])
        await expectProblem(await app.call(path, { ...call, as }), 404, "element_resource_non_existing");
      expect((await app.call(path, { ...call, as: admin })).status, name).toBe(status);
    }
  });

  it("is its own client's by default", async () => {
    const { owner, admin } = cast();
    const file = await store(owner, { visibility, shared: false });
    const calls = [...Object.values(asks(file)), ...Object.values(changes(file))];
    if (visibility === "private") calls.push([file.path, {}, 200]);
    for (const [path, call] of calls)
      await expectProblem(await app.call(path, { ...call, as: admin }), 404, "element_resource_non_existing");
  });

  it("is committed only by its own client, which may repeat only the same commit", async () => {
    const { owner, admin } = cast();
    const file = await uploaded(app, PICTURE, { as: owner, visibility });
    const commit = (as: Principal, query: string) => app.call(`${file.commitLink}${query}`, { as, json: {} });
    await expectProblem(await commit(admin, "?shared=tenant"), 404, "element_resource_non_existing");
    await expectJson(await commit(owner, "?shared=tenant"), 202);
    await expectJson(await commit(owner, "?shared=tenant"), 202);
    await expectProblem(await commit(owner, ""), 409, "conflict_resource", [{ type: "already_committed" }]);
    await expectProblem(await commit(admin, "?shared=tenant"), 404, "element_resource_non_existing");
  });
});

describe("listing shared files", () => {
  const idsOf = async (as: Principal, query: string, visibility?: Options["visibility"]): Promise<string[]> =>
    (await expectJson(await app.call(`${collection(visibility)}?${query}`, { as }), 200)).map(
      ({ id }: { id: string }) => id,
    );

  it("shows those of all clients of the tenant, with their client, page by page", async () => {
    const { tenant, owner, admin, reader } = cast();
    const files = [await store(owner), await store(admin), await store(owner)].map(({ id }) => id);
    await store(owner, { shared: false });
    await store(owner, { visibility: "public" });
    const query = `tenant=${tenant}&shared=tenant`;
    const first = await app.call(`${collection()}?${query}&pageSize=2`, { as: reader });
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1];
    const [one, two] = await expectJson(first, 200);
    expect(one).toMatchObject({ tenant, shared: "tenant", metadata: {} });
    const [three, ...others] = await expectJson(await app.call(next!, { as: reader }), 200);
    expect(others).toEqual([]);
    const [mine, hers] = [owner.clientName, admin.clientName];
    expect([one, two, three].map(({ id, client }) => `${id} ${client}`)).toEqual(
      files.map((id, at) => `${id} ${at === 1 ? hers : mine}`).toSorted(),
    );
    expect(await idsOf(reader, `tenant=${tenant}`)).toEqual([]);
    expect(await idsOf(owner, `tenant=${tenant}`)).toHaveLength(3);
  });

  it("searches and sorts those of one client", async () => {
    const { tenant, owner, reader } = cast();
    const [red, late] = [
      await store(owner, { metadata: { color: "red", at: 1 } }),
      await store(owner, { metadata: { color: "red", at: 2 } }),
    ];
    await store(owner, { metadata: { color: "red" }, shared: false });
    await store(owner, { metadata: { color: "blue" } });
    const query = `tenant=${tenant}&shared=tenant&client=${owner.clientName}&q=color:red&sort=at:desc`;
    expect(await idsOf(reader, query)).toEqual([late.id, red.id]);
    expect(await idsOf(reader, `tenant=${tenant}&shared=tenant&client=nobody.app`)).toEqual([]);
  });

  it("follows a change of metadata", async () => {
    const { tenant, owner, admin } = cast();
    const file = await store(owner, { metadata: { color: "red" } });
    await app.call(`${file.path}/metadata`, { as: admin, method: "PUT", json: { color: "blue" } });
    const query = (color: string) => `tenant=${tenant}&shared=tenant&client=${owner.clientName}&q=color:${color}`;
    expect([await idsOf(admin, query("red")), await idsOf(admin, query("blue"))]).toEqual([[], [file.id]]);
  });

  it("shows nothing to a service that the tenant subscribes to", async () => {
    const { tenant, owner, strangers } = cast();
    await store(owner);
    const [, server] = strangers;
    expect(await idsOf(server!, `tenant=${tenant}&shared=tenant`)).toEqual([]);
    expect(await idsOf(server!, `tenant=${tenant}&shared=tenant&client=${owner.clientName}`)).toEqual([]);
  });

  it.each([
    ["client=a.b", "client", "invalid_query_parameter"],
    ["shared=tenant&q=a:b", "client", "missing_query_parameter"],
    ["shared=tenant&sort=a", "client", "missing_query_parameter"],
    ["shared=everybody", "shared", "invalid_query_parameter"],
  ])("refuses %s", async (query, field, type) => {
    const { tenant, reader } = cast();
    const refused = await app.call(`${collection()}?tenant=${tenant}&${query}`, { as: reader });
    await expectProblem(refused, 400, "validation_violation", [{ type, field }]);
  });
});

describe("deleting", () => {
  it("gives the report to the client that asked", async () => {
    const { owner, admin } = cast();
    const file = await store(owner);
    const deleted = await app.call(file.path, { as: admin, method: "DELETE" });
    const report = deleted.headers.get("location")!;
    expect(await expectJson(await app.call(report, { as: admin }), 200)).toMatchObject({ kind: "file" });
    await expectProblem(await app.call(report, { as: owner }), 404, "element_resource_non_existing");
  });

  it("of all files, or by query, never touches those that others share", async () => {
    const { tenant, owner, admin } = cast();
    const file = await store(owner, { metadata: { color: "red" } });
    for (const query of [`tenant=${tenant}`, `tenant=${tenant}&q=color:red`])
      await app.call(`${collection()}?${query}`, { as: admin, method: "DELETE" });
    await app.call(`/media/v2/bulk/variants?tenant=${tenant}&clip=4x4`, { as: admin, method: "DELETE" });
    expect(await expectJson(await app.call(`${file.path}/variants`, { as: admin }), 200)).toHaveLength(1);
  });

  it("of all files of their client ends shared ones for everybody", async () => {
    const { tenant, owner, reader } = cast();
    const file = await store(owner);
    await app.call(`${collection()}?tenant=${tenant}`, { as: owner, method: "DELETE" });
    await expectProblem(await app.call(file.path, { as: reader }), 404, "element_resource_non_existing");
    const listed = await app.call(`${collection()}?tenant=${tenant}&shared=tenant`, { as: reader });
    expect(await expectJson(listed, 200)).toEqual([]);
  });
});
