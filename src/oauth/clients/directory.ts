import type { ClientAccess } from "../../http/callers/auth.ts";
import type { BuiltIn } from "../../platform/model/built-in.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { noLocationCache, throughLocation, type LocationCache } from "../../platform/copies/location-cache.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import { mayActFor, type TenantRights } from "../model/granted-scopes.ts";
import { err, type Result } from "../../platform/model/result.ts";
import type { ClientAndTenant, ClientRecord, ClientRow, DirectoryStore, TenantRow } from "./directory-store.ts";

export interface Entry {
  /** Undefined for an unknown or disabled client. */
  readonly client: ClientRecord | undefined;
  /** Why a client that nobody registered is unknown, for its developer. */
  readonly clientFault?: string;
  /** Undefined for an unknown tenant. */
  readonly tenant: TenantRights | undefined;
  /** The database's time of the read. A later change revokes tokens issued from these records. */
  readonly asOfMs: number;
}

const CACHE = { ttlMs: 30_000, aheadMs: 10_000, maxEntries: 10_000 } as const;
/** The greatest age of a copy that the isolates of a location share. */
const LOCATION_AGE_MS = 10_000;
/** A longer id cannot be registered, so it is not looked up. */
const MAX_ID_CHARS = 128;

/** The request for which a client is looked up. A call is one. */
export interface Asking {
  readonly nowMs: number;
  /** Undefined: the client is known from a token or a record, so no stranger made it up. */
  readonly request?: Request;
}

/** Port to the clients that nobody registered (unregistered/unregistered.ts). */
export interface UnregisteredClients {
  /** True if the id is of such a client, whether it exists or not. */
  isOne(clientId: string): boolean;
  /** The error is for the client's developer. Throws `TryLater` if it cannot be known now. */
  find(clientId: string, asking: Asking): Promise<Result<ClientRecord, string>>;
  /** Forgets copies of rows. */
  clear(): void;
}

const NOBODY: UnregisteredClients = { isOne: () => false, find: async () => err("no such client"), clear: () => {} };

export interface DirectoryDeps {
  readonly store: DirectoryStore;
  readonly builtIn: BuiltIn;
  readonly isolate: Isolate;
  /** Undefined: the isolates of a location share no copies. */
  readonly location?: LocationCache;
  /** Undefined: there are none. */
  readonly unregistered?: UnregisteredClients;
  /** The digests of the operator client's secrets. */
  operatorDigests(): Promise<readonly string[]>;
}

export type Directory = ReturnType<typeof createDirectory>;

/**
 * Clients and tenants, the built-in ones too. The isolate keeps each pair for 30 s, so a change by an operator applies
 * here at once and everywhere within 30 s.
 */
export function createDirectory({
  store,
  builtIn,
  operatorDigests,
  isolate,
  location = noLocationCache,
  unregistered = NOBODY,
}: DirectoryDeps) {
  const cache = new FreshCache<string, Entry>(CACHE, isolate);
  const intern = createInterning(CACHE.maxEntries);

  /**
   * Finds the client and the named tenant, or the client's own. At most one round trip. Without a client it finds the
   * tenant alone, which must be one that is known to exist.
   */
  const find = async (clientId: string | undefined, tenant: string | undefined, asking: Asking): Promise<Entry> => {
    const { nowMs } = asking;
    if (clientId === builtIn.operatorClientId) return operatorEntry(tenant, builtIn, await operatorDigests(), nowMs);
    if (clientId !== undefined && unregistered.isOne(clientId)) {
      const client = await unregistered.find(clientId, asking);
      if (!client.ok) return { client: undefined, clientFault: client.error, tenant: undefined, asOfMs: nowMs };
      const { tenant: found, asOfMs } =
        tenant === undefined ? { tenant: undefined, asOfMs: nowMs } : await find(undefined, tenant, asking);
      return { client: client.value, tenant: found, asOfMs };
    }
    if ((clientId ?? "").length > MAX_ID_CHARS || (tenant ?? "").length > MAX_ID_CHARS)
      return { client: undefined, tenant: undefined, asOfMs: nowMs };
    const key = JSON.stringify([clientId, tenant]);
    const shared = {
      name: `client and tenant:${key}`,
      nowMs,
      maxAgeMs: LOCATION_AGE_MS,
      read: () => store.clientAndTenant(clientId ?? "", tenant, nowMs),
      valueOf: entryOf,
    };
    return cache.getFrom(key, nowMs, throughLocation(location, shared));

    function entryOf({ client, tenant: row, asOfMs }: ClientAndTenant): Entry {
      const found = row && withBuiltIn(row, builtIn);
      if (clientId === undefined) return { client: undefined, tenant: found, asOfMs };
      // An unknown client is cached as a miss only, so made-up ids cannot fill the memory with tenants.
      if (client === undefined || client.disabled) return { client: undefined, tenant: undefined, asOfMs };
      return { client: intern(toRecord(client)), tenant: found, asOfMs };
    }
  };

  const access: ClientAccess = {
    async mayActFor({ clientId, user, tenant: own }, tenant, nowMs) {
      if (user !== "") return tenant === own;
      const entry = await find(clientId, tenant, { nowMs });
      return entry.client !== undefined && entry.tenant !== undefined && mayActFor(entry.client, entry.tenant).ok;
    },
    async servesOthers(clientId, nowMs) {
      const { client } = await find(clientId, undefined, { nowMs });
      return client?.service !== undefined;
    },
    async listsScope(clientId, scope, nowMs) {
      const { client } = await find(clientId, undefined, { nowMs });
      return client !== undefined && client.scopes.some((listed) => scopeMatches(listed, scope));
    },
    async tenantUses({ tenant: id }, service, nowMs) {
      if (id === "") return false;
      const { tenant } = await find(undefined, id, { nowMs });
      return tenant !== undefined && tenant.services.some(({ name }) => name === service);
    },
    async belongsTo(clientId, tenant, nowMs) {
      const { client } = await find(clientId, undefined, { nowMs });
      return client?.tenant === tenant;
    },
    async keepsUsersApart(clientId, nowMs) {
      const { client } = await find(clientId, undefined, { nowMs });
      return client?.filesPerUser === true;
    },
    async isLive(clientId, nowMs) {
      const { client, tenant } = await find(clientId, undefined, { nowMs });
      return client !== undefined && tenant !== undefined && !tenant.disabled;
    },
  };

  const clear = (): void => {
    cache.clear();
    unregistered.clear();
  };
  return { find, access, clear };
}

/**
 * Shares one record per client between its cache entries while the record is unchanged. Anybody can name tenants that
 * do not exist for a known client; a copy of its lists for each would fill the memory.
 */
function createInterning(maxClients: number): (fresh: ClientRecord) => ClientRecord {
  const known = new Map<string, ClientRecord>();
  return (fresh) => {
    const before = known.get(fresh.id);
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(fresh)) return before;
    known.delete(fresh.id);
    known.set(fresh.id, fresh);
    const [oldest] = known.keys();
    if (known.size > maxClients && oldest !== undefined) known.delete(oldest);
    return fresh;
  };
}

const toRecord = ({ disabled: _disabled, ...client }: ClientRow): ClientRecord => client;

function withBuiltIn(row: TenantRow, builtIn: BuiltIn): TenantRights {
  const fromPackage = row.packages.includes(builtIn.package.id) ? builtIn.package.services : [];
  const subscribed = [...new Set([...row.subscribed, ...fromPackage])];
  const usable = builtIn.services.filter((service) => service.essential || subscribed.includes(service.name));
  const { id, disabled, plan, asksTwoFactors, brand } = row;
  return { id, disabled, plan, asksTwoFactors, brand, subscribed, services: [...usable, ...row.services] };
}

function operatorEntry(
  tenant: string | undefined,
  builtIn: BuiltIn,
  secretDigests: readonly string[],
  asOfMs: number,
): Entry {
  const client: ClientRecord = {
    id: builtIn.operatorClientId,
    name: builtIn.operatorClientId,
    tenant: builtIn.tenant,
    service: undefined,
    scopes: [builtIn.adminScope],
    confidential: true,
    redirectUris: [],
    postLogoutRedirectUris: [],
    requirePkce: false,
    grantTypes: ["client_credentials"],
    secretDigests,
  };
  if (tenant !== undefined && tenant !== builtIn.tenant) return { client, tenant: undefined, asOfMs };
  const services = builtIn.services.filter((service) => service.essential);
  return { client, tenant: { id: builtIn.tenant, disabled: false, plan: "large", services, subscribed: [] }, asOfMs };
}
