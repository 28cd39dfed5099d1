import { describe, expect, it } from "vitest";
import { createBuiltIn } from "../../../src/platform/model/built-in.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import type { ClientRow, DirectoryStore } from "../../../src/oauth/clients/directory-store.ts";
import { createDirectory } from "../../../src/oauth/clients/directory.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";

/** A directory over a store that counts its reads and can be changed. */
function make() {
  const row = (id: string): ClientRow => ({
    id,
    name: id,
    tenant: "acme",
    confidential: true,
    service: undefined,
    redirectUris: [],
    postLogoutRedirectUris: [],
    requirePkce: false,
    grantTypes: ["client_credentials"],
    scopes: [`scope.${version}`],
    disabled: false,
    secretDigests: [],
  });
  let version = 1;
  let reads = 0;
  const store: DirectoryStore = {
    async clientAndTenant(clientId, tenant) {
      reads += 1;
      const known = tenant === undefined || tenant === "acme";
      const found = {
        id: "acme",
        disabled: false,
        plan: "standard" as const,
        services: [],
        subscribed: [],
        packages: [],
      };
      return { client: clientId === "" ? undefined : row(clientId), tenant: known ? found : undefined, asOfMs: reads };
    },
  };
  const directory = createDirectory({
    store,
    builtIn: createBuiltIn(createNames("plat")),
    operatorDigests: async () => [],
    isolate: ownIsolate,
  });
  return { directory, change: () => (version += 1), reads: () => reads };
}

describe("The cached record of a client", () => {
  it("is shared, however many tenants are made up for it", async () => {
    const { directory, reads } = make();
    const own = await directory.find("acme.app", undefined, { nowMs: 0 });
    for (let n = 0; n < 50; n++) {
      const { client, tenant } = await directory.find("acme.app", `tenant${n}`, { nowMs: 0 });
      expect(client).toBe(own.client);
      expect(tenant).toBeUndefined();
    }
    expect((await directory.find("acme.other", "tenant1", { nowMs: 0 })).client).not.toBe(own.client);
    expect(reads()).toBe(52);
    await directory.find("acme.app", "tenant7", { nowMs: 9_999 });
    expect(reads()).toBe(52);
  });

  it("is replaced when the client changed, for each tenant as it is read", async () => {
    const { directory, change } = make();
    expect((await directory.find("acme.app", "tenant1", { nowMs: 0 })).client?.scopes).toEqual(["scope.1"]);
    change();
    expect((await directory.find("acme.app", "tenant2", { nowMs: 0 })).client?.scopes).toEqual(["scope.2"]);
    expect((await directory.find("acme.app", "tenant1", { nowMs: 0 })).client?.scopes).toEqual(["scope.1"]);
    expect((await directory.find("acme.app", "tenant1", { nowMs: 30_000 })).client?.scopes).toEqual(["scope.2"]);
    directory.clear();
    expect((await directory.find("acme.app", "tenant2", { nowMs: 0 })).client?.scopes).toEqual(["scope.2"]);
  });
});

describe("A client that names no scope", () => {
  const scopesOf = async (query: { tenant: string; clientId: string; clientSecret: string }) =>
    (
      await expectJson<{ scope: string }>(
        await call("/oauth2/v1/token", {
          form: { grant_type: "client_credentials", client_id: query.clientId, client_secret: query.clientSecret },
        }),
        200,
      )
    ).scope
      .split(" ")
      .toSorted();

  it("gets the scopes of its records as they are: after each change, and of its own tenant alone", async () => {
    const client = await makeClient({ scopes: ["plat.media_view"] });
    const other = await makeClient({ scopes: ["plat.media_admin"] });
    const withScopes = (scopes: readonly string[]) =>
      put(`clients/${client.clientId}`, {
        tenant: client.tenant,
        confidential: true,
        grantTypes: ["client_credentials"],
        scopes,
      });
    for (const name of ["media_view", "media_manage", "pubsub_publish"]) {
      await withScopes([`plat.${name}`]);
      // The second one comes from the same copy of the records.
      for (let time = 0; time < 2; time++)
        expect(await scopesOf(client)).toEqual([`plat.${name}`, `plat.tenant=${client.tenant}`]);
      expect(await scopesOf(other)).toEqual(["plat.media_admin", `plat.tenant=${other.tenant}`]);
    }
  });
});
