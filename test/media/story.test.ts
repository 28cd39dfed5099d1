import { describe, expect, it } from "vitest";
import { decode, encodeJpeg, gradient } from "../support/images.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

/** Registers a service to which the tenant subscribes. */
async function subscribedService(tenant: string): Promise<string> {
  const name = unique("service");
  const sourceUrl = "https://service.example";
  const service = { sourceUrl, proxyPath: `/${name}`, scopes: [], tenant, access: "token", essential: false };
  await put(`services/${name}`, service);
  await put(`packages/${name}`, { version: "1", organization: `${tenant}-org`, services: [name] });
  await put(`tenants/${tenant}/subscriptions/${name}`, {});
  return name;
}

/** These tests use the whole platform with real tokens and the real queue. */
describe("media through the platform", () => {
  const PATIENCE_MS = 15_000;

  async function ready(path: string, token: string): Promise<Response> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end;) {
      const answer = await call(path, { token });
      if (answer.status !== 404) return answer;
      expect(answer.headers.get("retry-after")).toBe("2");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error("no variant in time");
  }

  // shows: media/what-the-service-does/image-variants
  // shows: media/states-of-a-file/variants-later
  it(
    "creates, uploads, commits, makes variants by the queue, fetches and deletes",
    { timeout: 2 * PATIENCE_MS },
    async () => {
      const client = await makeClient();
      const token = await tokenFor(client);
      const photo = await encodeJpeg(gradient(640, 480));
      const root = "/media/v2/files";
      const json = { "Content-Type": "image/jpeg" };
      const created = await expectJson(await call(`${root}?clip=320x320&crop=100x100`, { token, json }), 200);
      const upload = { method: "PUT", body: photo, headers: { "content-type": "image/jpeg" } };
      const uploaded = await call(created.uploadLink, upload);
      expect(uploaded.status).toBe(200);
      const committed = await call(created.commitLink, { token, json: { title: "photo" } });
      const { link } = await expectJson(committed, 202);
      expect(new URL(link).pathname).toBe(`${root}/${created.id}`);

      const master = await expectJson(await call(link, { token }), 200);
      const content = await call(master.link);
      expect(new Uint8Array(await content.arrayBuffer())).toEqual(photo);
      expect(content.headers.get("etag")).toBe(uploaded.headers.get("etag"));
      for (const [query, width, height] of [
        ["clip=320x320", 320, 240],
        ["crop=100x100", 100, 100],
      ] as const) {
        const variant = await expectJson(await ready(`${link}?${query}`, token), 200);
        const picture = await decode(new Uint8Array(await (await call(variant.link)).arrayBuffer()));
        expect([picture.width, picture.height]).toEqual([width, height]);
      }
      expect((await call(link, { token, method: "DELETE" })).status).toBe(204);
      expect((await call(link, { token })).status).toBe(404);
      expect((await call(master.link)).status).toBe(404);
    },
  );

  // shows: oauth/what-the-service-does/tenants-apart
  // shows: media/what-the-service-does/one-token-for-all-tenants
  // shows: media/ownership/a-token-without-a-named-tenant
  it("lets one client serve several tenants; a token for one tenant reaches only that one", async () => {
    const [home, guest, stranger] = [await makeTenant(), await makeTenant(), await makeTenant({ subscribed: false })];
    const client = await makeClient({ tenant: home, service: await subscribedService(guest) });
    const token = await tokenFor(client);
    const commit = async (tenant: string): Promise<Response> => {
      const created = await expectJson(await call("/media/v2/files", { token, method: "POST" }), 200);
      await call(created.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } });
      return call(`${created.commitLink}?tenant=${tenant}`, { token, method: "POST" });
    };
    const { link } = await expectJson(await commit(guest), 202);
    expect((await call(link, { token })).status).toBe(200);
    expect((await commit(stranger)).status).toBe(404);
    const scopes = "plat.media_view plat.media_manage";
    const ofGuest = await tokenFor(client, `plat.tenant=${guest} ${scopes}`);
    const ofHome = await tokenFor(client, `plat.tenant=${home} ${scopes}`);
    expect((await call(link, { token: ofGuest })).status).toBe(200);
    expect((await call(link, { token: ofHome })).status).toBe(404);
    const another = await tokenFor(await makeClient({ tenant: home }));
    expect((await call(link, { token: another })).status).toBe(404);
  });

  // shows: oauth/what-the-service-does/service-on-behalf-of-a-project
  it("stops a service's client when the subscription is cancelled; a new one restores it", async () => {
    const [home, guest] = [await makeTenant(), await makeTenant()];
    const service = await subscribedService(guest);
    const token = await tokenFor(await makeClient({ tenant: home, service }));
    const committed = async (tenant: string): Promise<string> => {
      const created = await expectJson(await call("/media/v2/files", { token, method: "POST" }), 200);
      await call(created.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } });
      const answer = await call(`${created.commitLink}?tenant=${tenant}`, { token, method: "POST" });
      return (await expectJson(answer, 202)).link as string;
    };
    const [own, theirs] = [await committed(home), await committed(guest)];
    const statuses = async (link: string): Promise<number[]> => {
      const answers = [
        await call(link, { token }),
        await call(`${link}/metadata`, { token }),
        await call(`${link}/metadata`, { token, method: "PUT", json: {} }),
        await call(`${link}/variants`, { token }),
        await call(`${link}/variants`, { token, method: "DELETE" }),
      ];
      return answers.map(({ status }) => status);
    };
    const all = [200, 200, 200, 200, 204];
    expect([await statuses(own), await statuses(theirs)]).toEqual([all, all]);
    const subscription = `tenants/${guest}/subscriptions/${service}`;
    const cancelled = await call(`/admin/v1/${subscription}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect(cancelled.status).toBe(204);
    expect(await statuses(theirs)).toEqual([404, 404, 404, 404, 404]);
    expect((await call(`${theirs}/variants?clip=1x1`, { token, method: "POST" })).status).toBe(404);
    expect((await call(theirs, { token, method: "DELETE" })).status).toBe(404);
    expect(await statuses(own)).toEqual(all);
    await put(subscription, {});
    expect(await statuses(theirs)).toEqual(all);
    expect((await call(theirs, { token, method: "DELETE" })).status).toBe(204);
  });

  describe.each(["", "/public"])("scopes below /media/v2%s", (base) => {
    const SCOPES = ["media_view", "media_manage", "media_admin"];
    const file = "/files/0123456789abcdef01234567";
    const operations: [scope: string, method: string, path: string][] = [
      ["media_view", "GET", "/files?tenant={tenant}"],
      ...(base === "" ? [["media_view", "GET", file] as [string, string, string]] : []),
      ["media_view", "GET", `${file}/metadata`],
      ["media_view", "GET", `${file}/variants`],
      ["media_manage", "POST", "/files"],
      ["media_manage", "POST", `${file}/commit`],
      ["media_manage", "PUT", `${file}/metadata`],
      ["media_manage", "DELETE", file],
      ["media_manage", "POST", `${file}/variants?clip=1x1`],
      ["media_manage", "DELETE", `${file}/variants`],
      ["media_manage", "POST", "/bulk/variants?tenant={tenant}&clip=1x1"],
      ["media_manage", "DELETE", "/bulk/variants?tenant={tenant}&clip=1x1"],
      ["media_admin", "DELETE", "/files?tenant={tenant}&q=a:b"],
      ["media_admin", "DELETE", "/files?tenant={tenant}"],
    ];

    // shows: media/what-the-service-does/private-files
    // shows: media/what-the-service-does/listing-needs-a-token
    // shows: media/authentication/plat.media_view
    // shows: media/authentication/plat.media_manage
    // shows: media/authentication/plat.media_admin
    it("let each operation need only its own; 403 names it, and there is 401 without a token", async () => {
      const client = await makeClient();
      const tokens = await Promise.all(SCOPES.map((scope) => tokenFor(client, `plat.${scope}`)));
      for (const [needed, method, template] of operations) {
        const path = `/media/v2${base}${template.replace("{tenant}", client.tenant)}`;
        for (const [at, scope] of SCOPES.entries()) {
          const answer = await call(path, { method, token: tokens[at]! });
          const text = await answer.text();
          expect([method, path, scope, answer.status === 403]).toEqual([method, path, scope, scope !== needed]);
          if (scope !== needed) {
            expect(JSON.parse(text)).toMatchObject({
              type: "insufficient_permissions",
              message: expect.stringContaining(`plat.${needed}.`),
            });
            expect(answer.headers.get("www-authenticate")).toContain(`scope="plat.${needed}"`);
          }
        }
        expect((await call(path, { method })).status).toBe(401);
      }
    });
  });

  // shows: media/what-the-service-does/public-files
  // shows: media/authentication/get-public-files-fileid
  it("are not needed to fetch a public file", async () => {
    const { token, link } = await publicFile();
    for (const init of [{}, { token }]) expect((await call(link, init)).status).toBe(302);
  });

  it("let everybody who may delete read the reports", async () => {
    const { client, link, token } = await publicFile();
    const { tenant } = client;
    const [viewer, manager, admin] = await Promise.all(
      ["media_view", "media_manage", "media_admin"].map((scope) => tokenFor(client, `plat.${scope}`)),
    );
    const one = await call(link, { method: "DELETE", token: manager! });
    const all = await call(`/media/v2/public/files?tenant=${tenant}`, { method: "DELETE", token: admin! });
    const list = `/media/v2/erasures?tenant=${tenant}`;
    for (const path of [one.headers.get("location")!, all.headers.get("location")!, list])
      for (const [bearer, status] of [
        [viewer, 403],
        [manager, 200],
        [admin, 200],
        [token, 200],
      ] as const)
        expect((await call(path, { token: bearer! })).status).toBe(status);
  });

  async function publicFile() {
    const client = await makeClient();
    const token = await tokenFor(client);
    const created = await expectJson(await call("/media/v2/public/files", { token, method: "POST" }), 200);
    await call(created.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } });
    const { link } = await expectJson(await call(created.commitLink, { token, method: "POST" }), 202);
    return { client, token, link: link as string };
  }
});
