import { TopicDirectory } from "../../../src/events/access/topic-directory.ts";
import { createRegistry } from "../../../src/gateway/registry/registry.ts";
import type { RegistryStore } from "../../../src/gateway/registry/registry-store.ts";
import type { DirectoryStore } from "../../../src/oauth/clients/directory-store.ts";
import { createDirectory } from "../../../src/oauth/clients/directory.ts";
import type { TrustStore } from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust } from "../../../src/oauth/tokens/trust.ts";
import { createBuiltIn } from "../../../src/platform/model/built-in.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { createLocationCache, type TextCache } from "../../../src/platform/copies/location-cache.ts";
import type { Sealer } from "../../../src/platform/secrets/seal.ts";
import type { Database } from "./database.ts";
import { virtualIsolate, type VirtualTime } from "./virtual-time.ts";

/** Three kinds of requests, each with the records that it needs. It resolves to false if it must be refused. */
export interface SimulatedIsolate {
  /** An event is published: the token, the topic. */
  publish(tenant: number, nowMs: number): Promise<boolean>;
  /** A request through the gateway: the service, the token, the tenant's subscriptions. */
  gateway(tenant: number, nowMs: number): Promise<boolean>;
  /** A token is issued: the client and its tenant. */
  token(tenant: number, nowMs: number): Promise<boolean>;
}

const builtIn = createBuiltIn(createNames("plat"));
/** A sealer that is never used, since the simulation has no real keys. */
const noSealer = {} as Sealer;

/** Reads the records of a request with the product's own caches, over stores that ask the modelled database. */
export function simulateIsolate(
  time: VirtualTime,
  database: Database,
  cache: TextCache,
  chance: () => number,
): SimulatedIsolate {
  const isolate = virtualIsolate(time, chance);
  const location = createLocationCache({
    cache,
    origin: "https://plinth.test",
    // The simulation leaves the cost of encryption out.
    sealer: { seal: async (plain) => plain, open: async (sealed) => sealed },
    addressOf: async (name) => name,
    isolate,
    log: { warn: () => undefined },
  });
  const trustStore = {
    async readUpdate() {
      await database.query();
      return { keys: [], revocations: [] };
    },
  } as unknown as TrustStore;
  const trust = createTrust({
    store: trustStore,
    makeFirstKey: async () => undefined,
    sealer: noSealer,
    isolate,
    onFault: () => undefined,
    location,
  });
  const topics = new TopicDirectory(
    async (id) => {
      await database.query();
      return { ...id, description: "", shards: 1, incarnation: "1", state: "active", createdAtMs: 0 };
    },
    isolate,
    location,
  );
  const store: DirectoryStore = {
    async clientAndTenant(clientId, tenant) {
      await database.query();
      const id = tenant ?? clientId;
      const found = {
        id,
        disabled: false,
        plan: "standard" as const,
        services: [],
        subscribed: ["echo"],
        packages: [],
      };
      return { client: clientOf(clientId), tenant: found, asOfMs: time.nowMs() };
    },
  };
  const directory = createDirectory({ store, builtIn, operatorDigests: async () => [], isolate, location });
  const registryStore: RegistryStore = {
    async all() {
      await database.query();
      return [];
    },
  };
  const registry = createRegistry(registryStore, false, isolate, location);
  const isDone = (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => true,
      () => false,
    );
  return {
    publish: async (tenant, nowMs) =>
      (await trust.ensure(nowMs, "recent")) &&
      isDone(topics.find({ owner: `t${tenant}.app`, eventType: "changed" }, nowMs)),
    gateway: async (tenant, nowMs) =>
      (await isDone(registry.find("/echo", nowMs))) &&
      (await trust.ensure(nowMs, "recent")) &&
      isDone(directory.access.tenantUses({ tenant: `t${tenant}` }, "echo", nowMs)),
    token: (tenant, nowMs) => isDone(directory.find(`t${tenant}.app`, undefined, { nowMs })),
  };
}

const clientOf = (id: string) => ({
  id,
  name: id,
  tenant: id,
  confidential: true,
  service: undefined,
  redirectUris: [],
  postLogoutRedirectUris: [],
  requirePkce: false,
  grantTypes: ["client_credentials"],
  scopes: [],
  disabled: false,
  secretDigests: [],
});
