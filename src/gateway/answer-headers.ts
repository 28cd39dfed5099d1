import type { Names } from "../platform/names.ts";
import { hopByHop, isPlatformCookie, isPlatforms } from "./header-rules.ts";

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
export const OF_THE_BYTES: readonly string[] = [
  "content-length",
  "content-encoding",
  "content-md5",
  "digest",
  "content-digest",
  "repr-digest",
  "accept-ranges",
  "content-range",
];

/** What a caller gets of a service's headers. */
export function answerHeaders(given: Headers, plan: AnswerPlan, names: Names): Headers {
  const endsHere = hopByHop(given);
  const headers = new Headers();
  for (const [name, value] of given) {
    if (endsHere(name) || OF_THE_HOST.has(name) || isPlatforms(name, names) || name === "set-cookie") continue;
    headers.append(name, value);
  }
  for (const cookie of given.getSetCookie()) if (!isPlatformCookie(cookie, names)) headers.append("set-cookie", cookie);
  for (const name of ["link", "location"]) {
    const value = headers.get(name);
    if (value !== null) headers.set(name, plan.text(value));
  }
  if (plan.isChanged) for (const name of OF_THE_BYTES) headers.delete(name);
  const etag = headers.get("etag");
  if (plan.isWeakened && etag?.startsWith(`"`) === true) headers.set("etag", `W/${etag}`);
  openToAll(headers);
  return headers;
}

/** Cross-origin rules are the service's where it has some, else those of the platform: any origin, no credentials. */
function openToAll(headers: Headers): void {
  if (headers.has("access-control-allow-origin")) return;
  headers.set("access-control-allow-origin", "*");
  headers.delete("access-control-allow-credentials");
  if (!headers.has("access-control-expose-headers")) headers.set("access-control-expose-headers", "*");
}
