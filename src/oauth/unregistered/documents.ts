import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import type { FetchJson, FetchLimits } from "../federation/fetch-json.ts";
import { isOwnHost, readMetadata, type ClientMetadata, type MetadataRules } from "./metadata.ts";

/**
 * Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document): the client's id is the address of a
 * document that describes it.
 *
 *   id ──an address that may be called──▶ fetched ──200, JSON, about this id, valid──▶ kept, as long as it says
 *      └── else: refused                     └── else: refused, and nothing is kept
 *
 * - Kept for a minute to an hour, by `Cache-Control`. A failure is not kept, so an isolate calls at most so often.
 * - A document speaks for its origin alone: redirect URIs and keys of another count nothing (metadata.ts). None speaks
 *   for the platform, where tenants put files and services.
 */
const FETCH: FetchLimits = { timeoutMs: 5_000, maxBytes: 16 * 1024 };
const LIFETIME_SEC = { min: 60, max: 3600, unsaid: 600 } as const;
const CACHE = { ttlMs: LIFETIME_SEC.max * 1000, aheadMs: LIFETIME_SEC.max * 1000, maxEntries: 500 } as const;
/**
 * Calls of one isolate in a minute. Anybody can make up addresses, so no network gets more than half of the calls to a
 * host, or a thirtieth of all. Clients that people allowed have calls of their own, which no stranger can use up.
 */
const BUDGETS = {
  anybody: { all: 300, ofNetwork: 10, ofHost: 20 },
  allowed: { all: 300, ofNetwork: 60, ofHost: 60 },
} as const;
const WINDOW_MS = 60_000;
/** Tokens carry the id. */
const MAX_ADDRESS_CHARS = 256;

/** `absent`: the document is not there or not valid. `unreachable`: it may be there. `busy`: it was not asked for. */
export type DocumentFault =
  | {
      readonly kind: "absent" | "unreachable";
      /** For the client's developer. */
      readonly description: string;
      /** For the log. */
      readonly reason: string;
    }
  | { readonly kind: "busy"; readonly retryAfterSec: number };

/** The one for whom a document is fetched. */
export interface Asker {
  /** Empty: no stranger, or there is no Cloudflare before the platform. */
  readonly network: string;
  readonly nowMs: number;
}

/** `allowed`: a person allowed the client. */
export type Standing = keyof typeof BUDGETS;

export interface Described {
  readonly metadata: ClientMetadata;
  readonly readAtMs: number;
  readonly untilMs: number;
}

type OwnRules = Pick<MetadataRules, "allowLoopback" | "ownOrigins">;

export type Documents = ReturnType<typeof createDocuments>;

export function createDocuments(isolate: Isolate, fetchJson: FetchJson, rules: OwnRules) {
  const cache = new FreshCache<string, Result<Described, DocumentFault>>(
    { ...CACHE, keeps: (found) => found.ok },
    isolate,
    new Attempts(isolate, 2 * FETCH.timeoutMs),
  );
  const budgets = { anybody: createBudget(BUDGETS.anybody), allowed: createBudget(BUDGETS.allowed) };
  const load = async (id: string, asker: Asker, standing: Standing): Promise<Result<Described, DocumentFault>> => {
    const { nowMs } = asker;
    const url = addressOf(id, rules);
    if (!url.ok) return absent(url.error);
    const retryAfterSec = budgets[standing].waitSec(url.value.host, asker);
    if (retryAfterSec > 0) return err({ kind: "busy", retryAfterSec });
    budgets[standing].take(url.value.host, asker);
    const answer = await fetchJson(id, {}, FETCH);
    if (!answer.ok) {
      const { error, reason } = answer.error;
      return error === "temporarily_unavailable" ? unreachable(reason) : absent(NO_DOCUMENT, reason);
    }
    const { status, body, cacheControl } = answer.value;
    if (status !== 200) return absent(NO_DOCUMENT, `${id} answers ${status}`);
    if (body["client_id"] !== id) return absent("client_id in the document differs from its address.");
    const metadata = readMetadata(body, { ...rules, origin: url.value.origin });
    if (!metadata.ok) return absent(metadata.error.description);
    if (metadata.value.name === "") return absent("client_name is missing.");
    return ok({ metadata: metadata.value, readAtMs: nowMs, untilMs: nowMs + lifetimeMs(cacheControl) });
  };
  return {
    async find(id: string, asker: Asker, standing: Standing): Promise<Result<Described, DocumentFault>> {
      const { nowMs } = asker;
      const ask = () => cache.get(id, nowMs, () => load(id, asker, standing));
      const kept = await ask();
      if (!kept.ok || nowMs < kept.value.untilMs) return kept;
      // An outdated copy is less than an hour old. It is better than none.
      if (budgets[standing].waitSec(new URL(id).host, asker) > 0) return kept;
      cache.outdate(id);
      const again = await ask();
      return !again.ok && again.error.kind === "busy" ? kept : again;
    },
  };
}

/** An id that is an address, whatever is there. No registered client has such an id. */
export const isAddress = (id: string): boolean => /^https?:/i.test(id);

/** The draft's rules for addresses (section 3), and ours: each document has one id. */
function addressOf(id: string, { allowLoopback, ownOrigins }: OwnRules): Result<URL, string> {
  if (id.length > MAX_ADDRESS_CHARS) return err(`client_id is longer than ${MAX_ADDRESS_CHARS} characters.`);
  const url = parseOutboundUrl(id, allowLoopback);
  if (!url.ok) return err(`client_id ${url.error}.`);
  if (url.value.pathname === "/" || url.value.href !== id)
    return err("client_id must be an address with a path, in its usual form.");
  if (isOwnHost(url.value, ownOrigins)) return err("client_id must be at no host of this platform.");
  return url;
}

function lifetimeMs(cacheControl: string): number {
  const { min, max, unsaid } = LIFETIME_SEC;
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,10})(?:$|[\s,])/i.exec(cacheControl) ?? [];
  const said = /(?:^|[\s,])no-(?:store|cache)\b/i.test(cacheControl) ? 0 : Number(seconds ?? unsaid);
  return Math.min(max, Math.max(min, said)) * 1000;
}

function createBudget(shares: { readonly all: number; readonly ofNetwork: number; readonly ofHost: number }) {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let calls = 0;
  const ofNetworks = new Map<string, number>();
  const ofHosts = new Map<string, number>();
  const begin = (nowMs: number): void => {
    if (Math.abs(nowMs - beganAtMs) < WINDOW_MS) return;
    beganAtMs = nowMs;
    calls = 0;
    ofNetworks.clear();
    ofHosts.clear();
  };
  return {
    /** The time until there may be a call again; 0: there is one now. */
    waitSec(host: string, { network, nowMs }: Asker): number {
      begin(nowMs);
      const isLeft =
        calls < shares.all &&
        (ofHosts.get(host) ?? 0) < shares.ofHost &&
        (network === "" || (ofNetworks.get(network) ?? 0) < shares.ofNetwork);
      return isLeft ? 0 : Math.max(1, Math.ceil((beganAtMs + WINDOW_MS - nowMs) / 1000));
    },
    take(host: string, { network, nowMs }: Asker): void {
      begin(nowMs);
      calls += 1;
      ofHosts.set(host, (ofHosts.get(host) ?? 0) + 1);
      ofNetworks.set(network, (ofNetworks.get(network) ?? 0) + 1);
    },
  };
}

/** One text, so nobody learns here what answers at an address. */
const NO_DOCUMENT = "There is no JSON document at client_id.";

const absent = (description: string, reason = description): Result<never, DocumentFault> =>
  err({ kind: "absent", description, reason });
const unreachable = (reason: string): Result<never, DocumentFault> =>
  err({ kind: "unreachable", description: NO_DOCUMENT, reason });
