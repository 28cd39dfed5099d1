import { invalid, problem, type Problem } from "../../http/errors/errors.ts";
import type { Names } from "../../platform/model/names.ts";
import { contentLength, countHops, isReadMethod } from "../model/headers.ts";
import { LIMITS } from "../model/limits.ts";
import { bodyTooLarge, unavailable } from "../model/problems.ts";
import type { GatewayRequest } from "./admission.ts";
import { HEADER_NAMES, PREFLIGHT_MAX_AGE_SEC } from "../../http/cors.ts";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/** True for a CORS preflight. It carries no token and gets the same answer for every service. */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** Allows any origin without credentials, and any method and header, since the gateway passes them on. */
export function answerPreflight({ headers }: Request): Response {
  const method = headers.get("access-control-request-method") ?? "";
  const requested = headers.get("access-control-request-headers") ?? "";
  const allowed = new Headers({
    "access-control-allow-origin": "*",
    "access-control-allow-methods":
      TOKEN.test(method) && !METHODS.split(", ").includes(method) ? `${METHODS}, ${method}` : METHODS,
    "access-control-max-age": String(PREFLIGHT_MAX_AGE_SEC),
    vary: "Access-Control-Request-Method, Access-Control-Request-Headers",
  });
  if (HEADER_NAMES.test(requested)) allowed.set("access-control-allow-headers", requested);
  return new Response(null, { status: 204, headers: allowed });
}

/** Refuses requests that are passed on to no service, whoever the caller is. */
export async function checkRequest(
  { names }: { readonly names: Names },
  { call, service, method, headers }: GatewayRequest,
): Promise<Problem | undefined> {
  // The response would be the request itself, with headers that are not for the caller.
  if (method === "TRACE")
    return problem("unsupported_method", "TRACE is not passed on.", { headers: { allow: METHODS } });
  // The runtime sends no body with these, so a service that reads one would not get it (RFC 9110 section 9.3.1).
  if (isReadMethod(method) && (await hasBytes(call.request.body, contentLength(headers))))
    return invalid("invalid_field", "", `A ${method} is passed on without a body: send none, or another method.`);
  if (headers.has("service-worker") && !service.trusted)
    return problem(
      "insufficient_permissions",
      "A script for a service worker is passed on for a trusted service alone.",
    );
  if ((contentLength(headers) ?? 0) > LIMITS.requestBodyBytes) return bodyTooLarge();
  if (countHops(headers, names) >= LIMITS.hops)
    return unavailable("The request goes in circles: its service's source leads back to the gateway.", 60, "loop");
  return undefined;
}

/** Reads the first piece of a chunked body, which may be empty. */
async function hasBytes(body: ReadableStream<Uint8Array> | null, declared: number | undefined): Promise<boolean> {
  if (body === null || declared !== undefined) return body !== null && declared !== 0;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value.byteLength > 0) return !done;
    }
  } catch {
    // The caller disconnected.
    return true;
  } finally {
    reader.releaseLock();
  }
}
