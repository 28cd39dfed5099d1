import type { Names } from "../platform/names.ts";
import { hopByHop, isPlatforms } from "./header-rules.ts";
import { noHeaders, type GivenHeaders, type MadeHeaders } from "./read-headers.ts";

/**
 * What a service cannot say for the platform's whole host: where else it answers, that only https will do, that a browser
 * forgets all that it holds of it, what runs beside all of its pages.
 */
const OF_THE_HOST = new Set([
  "alt-svc",
  "strict-transport-security",
  "clear-site-data",
  "service-worker-allowed",
  "public-key-pins",
  "nel",
  "report-to",
  "reporting-endpoints",
]);

export interface AnswerPlan {
  /** Rewrites the value of a header. */
  text(value: string): string;
  /** The body is another one than the service sent: rewritten, or decoded. */
  readonly isChanged: boolean;
  /** The entity tag is handed out as a weak one. */
  readonly isWeakened: boolean;
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

/** What a caller gets of a service's headers; cookies are another matter. */
export function answerHeaders(given: GivenHeaders, plan: AnswerPlan, names: Names): MadeHeaders {
  const endsHere = hopByHop(given);
  const headers = noHeaders();
  for (const [name, value] of given) {
    if (endsHere(name) || OF_THE_HOST.has(name) || isPlatforms(name, names) || name === "set-cookie") continue;
    if (plan.isChanged && OF_THE_BYTES.has(name)) continue;
    headers[name] = name === "link" || name === "location" ? plan.text(value) : value;
  }
  const etag = headers["etag"];
  if (plan.isWeakened && etag?.startsWith(`"`) === true) headers["etag"] = `W/${etag}`;
  openToAll(headers);
  return headers;
}

/** Cross-origin rules are the service's where it has some, else those of the platform: any origin, no credentials. */
function openToAll(headers: MadeHeaders): void {
  if (headers["access-control-allow-origin"] !== undefined) return;
  headers["access-control-allow-origin"] = "*";
  delete headers["access-control-allow-credentials"];
  headers["access-control-expose-headers"] ??= "*";
}
