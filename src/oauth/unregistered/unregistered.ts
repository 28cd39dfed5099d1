import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { err, ok } from "../../platform/model/result.ts";
import { TryLater } from "../../platform/model/try-later.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import type { UnregisteredClients } from "../clients/directory.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import { isAddress, type Documents } from "./documents.ts";
import type { ClientMetadata } from "./metadata.ts";
import {
  UNREGISTERED_TENANT,
  type Adoption,
  type StoredMetadata,
  type UnregisteredStore,
} from "./unregistered-store.ts";
import { DAY_MS } from "../../platform/runtime/clock.ts";

/**
 * Clients that nobody registered, as the grants see them. They act only for people:
 *
 * - A request names a service behind the gateway by `resource`, and its tokens are for that service. The person's
 *   tenant must use it. The scopes are those of the service that the person's roles have; others are left out.
 * - The person is asked each time (consent/consent.ts), and the page shows the source of the data about the client.
 * - Their tokens name no client as owner (`client_name` is empty), so no topic and no file is theirs.
 * - Nothing is stored before the person's consent. A person may bring 100 clients (unregistered-store.ts).
 * - Code flow with PKCE and S256, `none` or `private_key_jwt`. No device, no pushed request, no token of their own.
 *
 * An older client registers itself, if the deployment allows it (endpoints/register.ts). Its data are those of the
 * registration, and are deleted after a day if no person allowed it. They never change, so the isolate caches them
 * like those of clients: a removed one is unknown within 30 s, and a sign-in with it meanwhile does not restore it.
 *
 * A document that cannot be reached counts for a day as it was when a person last allowed it. If strangers have used up
 * the calls of the isolate, clients that people allowed have calls of their own, and others get 503.
 */
const STALE_MS = DAY_MS;
const MAX_ID_CHARS = 128;
const BUSY = "Too many documents of clients are being fetched now. Try again in a minute.";
/** As in clients/directory.ts, but these are up to 16 KB each. Unknown ids are kept too, so they cost the same. */
const CACHE = { ttlMs: 30_000, aheadMs: 10_000, maxEntries: 500 } as const;

/** Nobody; clients whose id is the address of a document; these and clients that register themselves (RFC 7591). */
export type UnregisteredPolicy = "none" | "documents" | "registration";

/** Ids of clients that registered themselves begin with it; those of registered clients do not. */
export const SELF_REGISTERED = "~";

export interface UnregisteredDeps {
  readonly store: UnregisteredStore;
  readonly takesRegistrations: boolean;
  /** Undefined: ids that are addresses are unknown. */
  readonly documents: Documents | undefined;
  readonly isolate: Isolate;
}

export interface Unregistered extends UnregisteredClients {
  /** The person allows the client: from now on codes, grants and consents may refer to it. */
  adopt(client: ClientRecord, person: string, nowMs: number): Promise<Adoption>;
  /** It registered itself, and the isolate's copy is older than its removal. */
  isGone(client: Pick<ClientRecord, "id">): Promise<boolean>;
}

export function createUnregistered(deps: UnregisteredDeps): Unregistered {
  const { store, documents, takesRegistrations, isolate } = deps;
  const registered = new FreshCache<string, StoredMetadata | undefined>(CACHE, isolate);
  return {
    isOne: (id) => (documents !== undefined && isAddress(id)) || (takesRegistrations && id.startsWith(SELF_REGISTERED)),
    async find(id, { nowMs, request }) {
      if (id.startsWith(SELF_REGISTERED)) {
        const key = id.slice(0, MAX_ID_CHARS);
        const found = await registered.get(key, nowMs, () => store.find(key));
        if (found === undefined) return err("The client is not registered, or not any more: register it again.");
        const metadata = JSON.parse(found.metadata) as ClientMetadata;
        return ok(toRecord(id, { metadata, readAtMs: found.readAtMs, host: "" }));
      }
      if (documents === undefined) return err("no client has such an id");
      const { host } = URL.parse(id) ?? { host: "" };
      const asker = { nowMs, network: networkOf(request?.headers.get("cf-connecting-ip") ?? "") };
      let found = await documents.find(id, asker, "anybody");
      const stored = found.ok || found.error.kind === "absent" ? undefined : await store.find(id);
      if (!found.ok && found.error.kind === "busy" && stored !== undefined)
        found = await documents.find(id, asker, "allowed");
      if (found.ok) return ok(toRecord(id, { ...found.value, host }));
      const fault = found.error;
      if (fault.kind === "absent" || stored === undefined || nowMs - stored.readAtMs > STALE_MS) {
        if (fault.kind === "busy") throw new TryLater(BUSY, fault.retryAfterSec);
        return err(fault.description);
      }
      const metadata = JSON.parse(stored.metadata) as ClientMetadata;
      return ok(toRecord(id, { metadata, readAtMs: stored.readAtMs, host }));
    },
    async adopt({ id, displayName = "", confidential, unregistered }, person, nowMs) {
      if (unregistered === undefined) throw new Error(`client ${id} is registered`);
      const isKnownAlready = id.startsWith(SELF_REGISTERED);
      const client = { id, shownName: displayName, confidential, isKnownAlready, ...unregistered };
      return store.adopt(client, person, nowMs);
    },
    isGone: async ({ id }) => id.startsWith(SELF_REGISTERED) && (await store.find(id)) === undefined,
    clear: () => registered.clear(),
  };
}

interface Read {
  readonly metadata: ClientMetadata;
  readonly readAtMs: number;
  readonly host: string;
}

const toRecord = (id: string, { metadata, readAtMs, host }: Read): ClientRecord => ({
  id,
  // The name of an owner; see above.
  name: "",
  displayName: shownName(metadata, host),
  tenant: UNREGISTERED_TENANT,
  service: undefined,
  // Limited by the service that is named.
  scopes: ["*"],
  confidential: metadata.authMethod !== "",
  authMethod: metadata.authMethod,
  jwks: metadata.jwks,
  jwksUri: metadata.jwksUri,
  redirectUris: metadata.redirectUris,
  postLogoutRedirectUris: [],
  requirePkce: true,
  grantTypes: metadata.grantTypes,
  secretDigests: [],
  unregistered: { host, metadata: JSON.stringify(metadata), readAtMs },
});

/**
 * The name for pages. Anybody can choose a name, so it is shown with the host of the client: of its document, else all
 * to which it may lead.
 */
const shownName = ({ name, redirectUris }: ClientMetadata, host: string): string => {
  const hosts = host === "" ? new Set(redirectUris.map((uri) => URL.parse(uri)?.host ?? "")) : [host];
  const behind = [...hosts].join(", ");
  return name === "" ? behind : `${name} (${behind})`;
};
