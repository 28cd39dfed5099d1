import type { Names } from "../../platform/names.ts";
import { hopByHop, isPlatforms, noHeaders, type GivenHeaders, type MadeHeaders } from "../model/headers.ts";

/**
 * What a service cannot say for the platform's whole host: where else it answers, that only https will do, that a browser
 * forgets all that it holds of it, what runs beside all of its pages.
 */
const OF_THE_HOST = new Set([
  "alt-svc",
  "strict-transport-security",
  "clear-site-data",
  "service-worker-allowed",
  "origin-agent-cluster",
  "set-login",
  "use-as-dictionary",
  "public-key-pins",
  "nel",
  "report-to",
  "reporting-endpoints",
]);

export interface AnswerPlan {
  /** Rewrites the value of a header that holds addresses. */
  header(value: string): string;
  /** The body is another one than the service sent: rewritten, or decoded. */
  readonly isChanged: boolean;
  /** The entity tag is handed out as a weak one. */
  readonly isWeakened: boolean;
  /** Set besides, in the place of the service's own. */
  readonly more: Readonly<Record<string, string>>;
}

/** True of the very bytes that the service sent, and of no others. */
export const OF_THE_BYTES: ReadonlySet<string> = new Set([
  "content-length",
  "content-encoding",
  "content-md5",
  "digest",
  "content-digest",
  "repr-digest",
  "accept-ranges",
  "content-range",
]);

/**
 * Of `Content-Range` and `Accept-Ranges`: whether they are about bytes. Services count the rows of a list too (`items 0-9/66`,
 * RFC 9110 section 14.1), and these stay what they are whatever is rewritten.
 */
export const isOfBytes = (range: string): boolean => /^\s*bytes\b/i.test(range);
const RANGES: ReadonlySet<string> = new Set(["accept-ranges", "content-range"]);
const changes = (name: string, value: string): boolean =>
  OF_THE_BYTES.has(name) && (!RANGES.has(name) || isOfBytes(value));

/** Who may read an answer is the platform's to say, as in its answer to the preflight (admission/checks.ts): the same for all. */
const CROSS_ORIGIN = "access-control-";

/** What a caller gets of a service's headers; cookies are another matter. */
export function answerHeaders(given: GivenHeaders, plan: AnswerPlan, names: Names): MadeHeaders {
  const endsHere = hopByHop(given);
  const headers = noHeaders();
  for (const [name, value] of given) {
    if (endsHere(name) || OF_THE_HOST.has(name) || isPlatforms(name, names) || name === "set-cookie") continue;
    if (name.startsWith(CROSS_ORIGIN) || (plan.isChanged && changes(name, value))) continue;
    headers[name] = name === "link" || name === "location" ? plan.header(value) : value;
  }
  const etag = headers["etag"];
  if (plan.isWeakened && etag?.startsWith(`"`) === true) headers["etag"] = `W/${etag}`;
  Object.assign(headers, plan.more);
  headers[`${CROSS_ORIGIN}allow-origin`] = "*";
  // Whatever a service exposes, and what the platform adds.
  headers[`${CROSS_ORIGIN}expose-headers`] = "*";
  return headers;
}
