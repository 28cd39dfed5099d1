import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import type { FetchJson, FetchLimits } from "../federation/fetch-json.ts";
import { readMetadata, type ClientMetadata } from "./metadata.ts";

/**
 * Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document): the client's id is the address of a
 * document that describes it.
 *
 *   id ──an address that may be called──▶ fetched ──200, JSON, about this id, valid──▶ kept, as long as it says
 *      └── else: refused                     └── else: refused, and nothing is kept
 *
 * - Kept for a minute to an hour, by `Cache-Control`. A failure is not kept, so an isolate calls at most so often.
 * - A document speaks for its origin alone: redirect URIs and keys of another count nothing (metadata.ts).
 */
const FETCH: FetchLimits = { timeoutMs: 5_000, maxBytes: 16 * 1024 };
const LIFETIME_SEC = { min: 60, max: 3600, unsaid: 600 } as const;
const CACHE = { ttlMs: LIFETIME_SEC.max * 1000, aheadMs: LIFETIME_SEC.max * 1000, maxEntries: 500 } as const;
/** Calls of one isolate in a minute: anybody can make up addresses. */
const BUDGET = { windowMs: 60_000, all: 120, ofHost: 20 } as const;
/** Tokens carry the id. */
const MAX_ADDRESS_CHARS = 256;

/** `absent`: the document is not there or not valid. `unreachable`: it may be there. */
export interface DocumentFault {
  readonly kind: "absent" | "unreachable";
  /** For the client's developer. */
  readonly description: string;
  /** For the log. */
  readonly reason: string;
}

export interface Described {
  readonly metadata: ClientMetadata;
  readonly readAtMs: number;
  readonly untilMs: number;
}

export type Documents = ReturnType<typeof createDocuments>;

export function createDocuments(isolate: Isolate, fetchJson: FetchJson, allowLoopback: boolean) {
  const cache = new FreshCache<string, Result<Described, DocumentFault>>(
    { ...CACHE, keeps: (found) => found.ok },
    isolate,
    new Attempts(isolate, 2 * FETCH.timeoutMs),
  );
  const mayCall = createBudget();
  const load = async (id: string, nowMs: number): Promise<Result<Described, DocumentFault>> => {
    const url = addressOf(id, allowLoopback);
    if (!url.ok) return absent(url.error);
    if (!mayCall(url.value.host, nowMs)) return unreachable(`${url.value.host} is asked too often`);
    const answer = await fetchJson(id, {}, FETCH);
    if (!answer.ok) {
      const { error, reason } = answer.error;
      return error === "temporarily_unavailable" ? unreachable(reason) : absent(NO_DOCUMENT, reason);
    }
    const { status, body, cacheControl } = answer.value;
    if (status !== 200) return absent(NO_DOCUMENT, `${id} answers ${status}`);
    if (body["client_id"] !== id) return absent("client_id in the document differs from its address.");
    const metadata = readMetadata(body, { origin: url.value.origin, allowLoopback });
    if (!metadata.ok) return absent(metadata.error.description);
    if (metadata.value.name === "") return absent("client_name is missing.");
    return ok({ metadata: metadata.value, readAtMs: nowMs, untilMs: nowMs + lifetimeMs(cacheControl) });
  };
  return {
    async find(id: string, nowMs: number): Promise<Result<Described, DocumentFault>> {
      const ask = () => cache.get(id, nowMs, () => load(id, nowMs));
      const kept = await ask();
      if (!kept.ok || nowMs < kept.value.untilMs) return kept;
      cache.invalidate(id);
      return ask();
    },
  };
}

/** An id that is an address, whatever is there. No registered client has such an id. */
export const isAddress = (id: string): boolean => /^https?:/i.test(id);

/** The draft's rules for addresses (section 3), and ours: each document has one id. */
function addressOf(id: string, allowLoopback: boolean): Result<URL, string> {
  if (id.length > MAX_ADDRESS_CHARS) return err(`client_id is longer than ${MAX_ADDRESS_CHARS} characters.`);
  const url = parseOutboundUrl(id, allowLoopback);
  if (!url.ok) return err(`client_id ${url.error}.`);
  if (url.value.pathname === "/" || url.value.href !== id)
    return err("client_id must be an address with a path, in its usual form.");
  return url;
}

function lifetimeMs(cacheControl: string): number {
  const { min, max, unsaid } = LIFETIME_SEC;
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,10})(?:$|[\s,])/i.exec(cacheControl) ?? [];
  const said = /(?:^|[\s,])no-(?:store|cache)\b/i.test(cacheControl) ? 0 : Number(seconds ?? unsaid);
  return Math.min(max, Math.max(min, said)) * 1000;
}

function createBudget(): (host: string, nowMs: number) => boolean {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let calls = 0;
  const ofHosts = new Map<string, number>();
  return (host, nowMs) => {
    if (Math.abs(nowMs - beganAtMs) >= BUDGET.windowMs) {
      beganAtMs = nowMs;
      calls = 0;
      ofHosts.clear();
    }
    const ofHost = ofHosts.get(host) ?? 0;
    if (calls >= BUDGET.all || ofHost >= BUDGET.ofHost) return false;
    calls += 1;
    ofHosts.set(host, ofHost + 1);
    return true;
  };
}

/** One text, so nobody learns here what answers at an address. */
const NO_DOCUMENT = "There is no JSON document at client_id.";

const absent = (description: string, reason = description): Result<never, DocumentFault> =>
  err({ kind: "absent", description, reason });
const unreachable = (reason: string): Result<never, DocumentFault> =>
  err({ kind: "unreachable", description: NO_DOCUMENT, reason });
