import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { previewOf } from "../../src/media/operated/preview.ts";
import { makePerson, tokenOf } from "../support/parties/operators.ts";
import { call, expectJson, type CallInit } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const SCOPES = ["plat.media_manage", "plat.media_admin", "plat.media_view"];

const at = async (path: string, init: CallInit = {}) =>
  call(`/admin/v1/${path}`, { ...init, token: init.token ?? (await tokenFor(OPERATOR)) });

const filesOf = ({ tenant, clientId }: TestClient, visibility = "private") =>
  `tenants/${tenant}/files/${clientId}/${visibility}`;

const put = async (uploadLink: string, body = "hello") => {
  const { pathname, search } = new URL(uploadLink);
  const headers = { "content-type": "text/plain", "content-length": String(body.length) };
  expect((await call(`${pathname}${search}`, { method: "PUT", headers, body })).status).toBe(200);
};

const store = (owner: TestClient, album: string, visibility = "private"): Promise<string> =>
  storeWith(owner, { album }, visibility);

async function storeWith(owner: TestClient, metadata: object, visibility = "private"): Promise<string> {
  const token = await tokenFor(owner);
  const base = `/media/v2${visibility === "public" ? "/public" : ""}/files`;
  const created = await call(base, { token, json: { "Content-Type": "text/plain" } });
  const { id, uploadLink } = await expectJson(created, 200);
  await put(uploadLink);
  await expectJson(await call(`${base}/${id}/commit`, { token, json: metadata }), 202);
  return id;
}

const idsOf = async (answer: Response): Promise<string[]> =>
  (await expectJson(answer, 200)).map(({ id }: { id: string }) => id);

const auditOf = async (subject: string) => expectJson(await at(`audit?subject=${encodeURIComponent(subject)}`), 200);

describe("files of all clients", () => {
  let owner: TestClient;

  beforeAll(async () => {
    owner = await makeClient({ scopes: SCOPES });
  });

  // shows: operator/files/list
  it("are listed by their metadata and page by page, and the audit says who looked", async () => {
    const [summer, winter] = [await store(owner, "summer"), await store(owner, "winter")];
    const path = filesOf(owner);
    expect((await idsOf(await at(path))).toSorted()).toEqual([summer, winter].toSorted());
    expect(await idsOf(await at(`${path}?q=album:winter`))).toEqual([winter]);
    expect(await idsOf(await at(`${path}?sort=album:desc`))).toEqual([winter, summer]);
    expect(await idsOf(await at(filesOf(owner, "public")))).toEqual([]);
    const page = await at(`${path}?pageSize=1`);
    const [first] = await idsOf(page);
    const next = /<([^>]+)>; rel="?next/.exec(page.headers.get("link") ?? "")?.[1];
    const { pathname, search } = new URL(next ?? "");
    const [second] = await idsOf(await call(`${pathname}${search}`, { token: await tokenFor(OPERATOR) }));
    expect(new Set([first, second])).toEqual(new Set([summer, winter]));
    expect((await at(`${path}?q=album`)).status).toBe(400);
    expect((await auditOf(path))[0]).toMatchObject({ actor: "plat.operator", action: "list" });
  });

  // shows: operator/files/owners
  it("are counted by client and visibility", async () => {
    const other = await makeClient({ tenant: owner.tenant, scopes: SCOPES });
    await store(other, "one", "public");
    const owners = await expectJson(await at(`tenants/${owner.tenant}/files`), 200);
    expect(owners).toContainEqual({ client: other.clientId, visibility: "public", files: 1, bytes: 5 });
  });

  // shows: operator/files/show
  it("are shown by their id alone, with a link to the bytes", async () => {
    for (const visibility of ["private", "public"]) {
      const id = await store(owner, "shown", visibility);
      const file = await expectJson(await at(`files/${id}`), 200);
      expect(file).toMatchObject({ id, tenant: owner.tenant, client: owner.clientId, visibility, size: 5 });
      expect(file.metadataText).toBe('{"album":"shown"}');
      const { pathname, search } = new URL(file.link);
      expect(search === "").toBe(visibility === "public");
      expect(await (await call(`${pathname}${search}`)).text()).toBe("hello");
    }
    expect((await at("files/000000000000000000000000")).status).toBe(404);
  });

  // shows: operator/files/upload
  it("are uploaded for a client of the tenant, whose files they are", async () => {
    const path = filesOf(owner);
    const { id, uploadLink } = await expectJson(
      await at(path, { method: "POST", json: { "Content-Type": "text/plain" } }),
      200,
    );
    expect((await at(`files/${id}`)).status).toBe(404);
    expect((await at(`files/${id}/commit`, { json: {} })).status).toBe(409);
    await put(uploadLink, "by hand");
    expect((await at(`files/${id}/commit`, { json: { by: "operator" } })).status).toBe(202);
    const token = await tokenFor(owner);
    expect(await expectJson(await call(`/media/v2/files/${id}/metadata`, { token }), 200)).toEqual({ by: "operator" });
    expect((await auditOf(`${path}/${id}`))[0]).toMatchObject({ action: "commit file", outcome: "done" });
    const nobody = filesOf({ ...owner, clientId: `${owner.tenant}.nobody` });
    expect((await at(nobody, { method: "POST", json: {} })).status).toBe(404);
    const foreign = await makeClient({ scopes: SCOPES });
    const mixed = filesOf({ ...owner, clientId: foreign.clientId });
    expect((await at(mixed, { method: "POST", json: {} })).status).toBe(404);
  });

  // shows: operator/files/change
  it("get other metadata and variants, and the work that waits is counted", async () => {
    const id = await store(owner, "old");
    const headers = { "content-type": "application/json" };
    const changed = await at(`files/${id}/metadata`, { method: "PUT", body: '{"n":12345678901234567890}', headers });
    expect(await changed.text()).toBe('{"n":12345678901234567890}');
    expect((await expectJson(await at(`files/${id}`), 200)).metadataText).toBe('{"n":12345678901234567890}');
    expect((await auditOf(`${filesOf(owner)}/${id}`))[0]).toMatchObject({ action: "change metadata" });
    expect((await at(`files/${id}/variants?clip=10x10`, { method: "POST" })).status).toBe(400);
    expect((await at(`files/${id}/variants`, { method: "DELETE" })).status).toBe(204);
    const bulk = `${filesOf(owner)}/variants`;
    expect(await expectJson(await at(`${bulk}?clip=10x10`, { method: "POST" }), 202)).toEqual({
      files: 0,
      transformations: 0,
    });
    expect(await expectJson(await at(bulk), 200)).toEqual({ waiting: 0, more: false });
  });

  // shows: operator/files/delete
  it("are deleted with a report, one or all that match, and counted first", async () => {
    const own = await makeClient({ scopes: SCOPES });
    const [one, two, three] = [await store(own, "a"), await store(own, "b"), await store(own, "b")];
    const path = filesOf(own);
    const deleted = await at(`files/${one}`, { method: "DELETE" });
    expect(deleted.status).toBe(204);
    expect((await at(`files/${one}`)).status).toBe(404);
    const counted = await at(`${path}?q=album:b&dryRun=true`, { method: "DELETE" });
    expect(await expectJson(counted, 200)).toEqual({ files: 2, bytes: 10 });
    expect((await idsOf(await at(path))).toSorted()).toEqual([two, three].toSorted());
    expect((await at(`${path}?album=b`, { method: "DELETE" })).status).toBe(400);
    const both = await at(`${path}?q=album:b`, { method: "DELETE" });
    expect(both.status).toBe(204);
    expect(await idsOf(await at(path))).toEqual([]);
    const reportId = (both.headers.get("location") ?? "").split("/").at(-1) ?? "";
    const report = await expectJson(await at(`erasures/${reportId}`), 200);
    expect(report).toMatchObject({ client: own.clientId, kind: "query", files: { requested: 2 } });
    const list = await idsOf(await at(`tenants/${own.tenant}/erasures/${own.clientId}`));
    expect(list).toContain(reportId);
    expect((await call(`/media/v2/erasures/${reportId}`, { token: await tokenFor(own) })).status).toBe(200);
    const rows = await auditOf(path);
    expect(rows.find(({ action }: { action: string }) => action === "delete files")).toMatchObject({
      reason: `deletion ${reportId}`,
    });
    expect((await at("erasures/000000000000000000000000")).status).toBe(404);
  });

  // shows: operator/files/find
  it("are found by the beginning of their names, in whatever tenant and database, whole names first", async () => {
    const [one, two] = [await makeClient({ scopes: SCOPES }), await makeClient({ scopes: SCOPES })];
    const name = unique("harbour");
    const find = async (q: string, more = "", init: CallInit = {}) =>
      expectJson(await at(`files?q=${encodeURIComponent(q)}${more}`, init), 200);
    const named = async (q: string, more = "") => (await find(q, more)).files.map((file: any) => file.name);
    const capital = name[0]!.toUpperCase() + name.slice(1);
    for (const [client, called] of [
      [one, `${name}-2.png`],
      [two, `${name}-1.png`],
      [two, name],
      [two, `${capital}.PNG`],
      [one, `the ${name}`],
    ] as const)
      await storeWith(client, { name: called });
    const removed = await storeWith(one, { name: `${name}-3.png` });
    const elsewhere = await storeWith(one, { title: name, size: 5 }, "public");
    expect((await at(`files/${removed}`, { method: "DELETE" })).status).toBe(204);
    const found = await find(name);
    expect(found.more).toBe(false);
    expect(found.files[0]).toMatchObject({
      name,
      tenant: two.tenant,
      client: two.clientId,
      visibility: "private",
    });
    expect((await at(`files/${found.files[0].id}`)).status).toBe(200);
    const names = found.files.map((file: any) => file.name);
    expect(names.toSorted()).toEqual([name, `${name}-1.png`, `${name}-2.png`, `${capital}.PNG`].toSorted());
    expect(found.files.map(({ id }: any) => id)).not.toContain(elsewhere);
    expect(await named(`${name}-1`)).toEqual([`${name}-1.png`]);
    expect(await named(name.toUpperCase())).toHaveLength(4);
    expect(await named(name, `&tenant=${one.tenant}`)).toEqual([`${name}-2.png`]);
    expect(await named(`${name}-4`)).toEqual([]);
    expect((await auditOf("files"))[0]).toMatchObject({ actor: "plat.operator", action: "list" });
    for (const bad of ["files", "files?q=", `files?q=${"x".repeat(101)}`, "files?q=a&tenant=Not+One"])
      expect([bad, (await at(bad)).status]).toEqual([bad, 400]);

    const person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(person);
    const own = await makeClient({ tenant: person.tenant, scopes: SCOPES });
    const mine = await storeWith(own, { name: `${name}-mine` });
    expect((await find(name, "", { token })).files).toMatchObject([{ id: mine, tenant: person.tenant }]);
    expect((await at(`files?q=${name}&tenant=${two.tenant}`, { token })).status).toBe(404);
  });

  it("are at most twenty of a name, and the answer says that there are more", async () => {
    const many = await makeClient({ scopes: SCOPES });
    const name = unique("crowd");
    await Promise.all(Array.from({ length: 21 }, (_, number) => storeWith(many, { name: `${name} ${number}` })));
    const answer = async (q: string) => {
      const { files, more } = await expectJson(await at(`files?q=${encodeURIComponent(q)}`), 200);
      return [files.length, more];
    };
    expect(await answer(name)).toEqual([20, true]);
    expect(await answer(`${name} 2`)).toEqual([2, false]);
  });

  it("of an organization with more than 1,000 tenants are found in the first ones, and the answer says so", async () => {
    const person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(person);
    const find = async (q: string, more = "") => expectJson(await at(`files?q=${q}${more}`, { token }), 200);
    const name = unique("island");
    const own = await makeClient({ tenant: person.tenant, scopes: SCOPES });
    const mine = await storeWith(own, { name });
    const add = (count: number, prefix: string) =>
      env.DB.prepare(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?1)
         INSERT INTO tenant (id, organization, name, created_at) SELECT ?2 || i, ?3, '', 0 FROM n`,
      )
        .bind(count, prefix, person.organization)
        .run();
    // In the order of the ids, these come first.
    await add(999, "a0");
    expect(await find(name)).toMatchObject({ files: [{ id: mine }], more: false });
    await add(1, "a1");
    expect(await find(name)).toEqual({ files: [], more: true });
    expect(await find(name, `&tenant=${person.tenant}`)).toMatchObject({ files: [{ id: mine }], more: false });
    await env.DB.prepare("DELETE FROM tenant WHERE organization = ? AND id <> ?")
      .bind(person.organization, person.tenant)
      .run();
  });

  // shows: operator/files/organization
  it("are those of one organization for who runs it: others do not exist, and cannot be changed", async () => {
    const person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(person);
    const own = await makeClient({ tenant: person.tenant, scopes: SCOPES });
    const other = await makeClient({ scopes: SCOPES });
    const [mine, theirs] = [await store(own, "mine"), await store(other, "theirs")];
    expect(await idsOf(await at(filesOf(own), { token }))).toEqual([mine]);
    expect((await at(`files/${mine}`, { token })).status).toBe(200);
    const change = { method: "PUT", json: { album: "x" }, token };
    expect((await at(`files/${mine}/metadata`, change)).status).toBe(200);
    const gone = await at(`files/${theirs}`, { method: "DELETE" });
    const erasure = (gone.headers.get("location") ?? "").split("/").at(-1) ?? "";
    const left = await store(other, "theirs");
    const refused: [string, CallInit][] = [
      [`tenants/${other.tenant}/files`, {}],
      [filesOf(other), {}],
      [filesOf(other), { method: "POST", json: {} }],
      [`${filesOf(other)}?dryRun=true`, { method: "DELETE" }],
      [`${filesOf(other)}/variants`, {}],
      [`${filesOf(other)}/variants?clip=1x1`, { method: "POST" }],
      [`files/${left}`, {}],
      [`files/${left}`, { method: "DELETE" }],
      [`files/${left}/commit`, { json: {} }],
      [`files/${left}/metadata`, change],
      [`files/${left}/variants?clip=1x1`, { method: "POST" }],
      [`files/${left}/variants`, { method: "DELETE" }],
      [`tenants/${other.tenant}/erasures/${other.clientId}`, {}],
      [`erasures/${erasure}`, {}],
    ];
    for (const [path, init] of refused)
      expect([path, (await at(path, { ...init, token })).status]).toEqual([path, 404]);
    // A client of another organization does not have the rights of the tenant's own clients.
    const mixed = filesOf({ ...own, clientId: other.clientId });
    expect(await idsOf(await at(mixed, { token }))).toEqual([]);
    expect((await at(mixed, { method: "DELETE", token })).status).toBe(403);
    const kept = await expectJson(await at(`files/${left}`), 200);
    expect(kept.metadataText).toBe('{"album":"theirs"}');
    expect((await at(`files/${mine}`, { method: "DELETE", token })).status).toBe(204);
  });
});

describe("previewOf", () => {
  const variant = { width: 1, height: 1, etag: "e", reason: null, type: "clip", state: "ready" } as const;
  const image = { contentType: "image/jpeg", sizeBytes: 5_000_000, variants: [] };

  it("takes the smallest variant that is large enough, else a small image, else nothing", () => {
    const [tiny, good, large] = [
      { ...variant, size: "64x64", sizeBytes: 1 },
      { ...variant, size: "240x240", sizeBytes: 20 },
      { ...variant, size: "900x900", sizeBytes: 300 },
    ];
    expect(previewOf({ ...image, variants: [tiny, large, good] })).toBe(good);
    expect(previewOf({ ...image, variants: [tiny, { ...good, state: "pending" }] })).toBeUndefined();
    expect(previewOf({ ...image, sizeBytes: 1000 })).toBe("master");
    expect(previewOf({ ...image, contentType: "text/html", sizeBytes: 1000 })).toBeUndefined();
  });
});
