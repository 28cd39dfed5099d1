/**
 * The gateway (contract section 6): every path that no service of the platform itself has.
 *
 *   path ── registry/registry.ts ──▶ the service with the longest proxy path, else 404
 *     └▶ preflight? answered here (admission/checks.ts)
 *     └▶ who calls: none or no valid token 401, a tenant that may not use the service 403
 *     └▶ where to: target.ts, platform/outbound-url.ts again; circles and what climbs out are refused
 *     └▶ breaker/breakers.ts: a service that did not answer a caller three times in a row is left alone for a while, 503
 *     └▶ service-token.ts: what a service of another tenant gets in the place of the caller's token
 *     └▶ headers (forward/request-headers.ts), body counted (forward/request-body.ts) ── forward/forward.ts ──▶ the service
 *     ◀── a WebSocket, for as long as the token is good (forward/web-socket.ts)
 *     ◀── its answer: headers (response/response-headers.ts), body rewritten (rewrite/rewriter.ts) or as it is (answer.ts, response/response-body.ts)
 *
 * A registered service is called and nobody else: redirects are handed on. A request is sent once; only a part of a body
 * that has to be rewritten is asked for again, as a whole. Nothing is stored: the registry's copy and the breakers are in
 * the isolate's memory, and bodies pass piece by piece.
 */
import { invalid, problem, type Problem } from "../http/errors.ts";
import type { Fallback, FallbackCall } from "../http/service.ts";
import { randomId } from "../platform/random.ts";
import { err, type Result } from "../platform/result.ts";
import { SESSION_ID } from "../platform/session-id.ts";
import { admitCaller } from "./admission/admission.ts";
import { createBreakers } from "./breaker/breakers.ts";
import type { Context, GatewayDeps, Passing } from "./context.ts";
import { exchange } from "./forward/exchange.ts";
import { LIMITS } from "./model/limits.ts";
import { isToRead, lengthOf, readHeaders, type GivenHeaders } from "./model/headers.ts";
import { answerPreflight, isPreflight } from "./admission/checks.ts";
import { tooLarge, unanswered, unavailable } from "./model/problems.ts";
import { createRegistry, type Registered } from "./registry/registry.ts";
import { hopsOf, requestHeaders } from "./forward/request-headers.ts";
import { authorizationFor } from "./admission/service-token.ts";
import { createRegistryStore } from "./registry/registry-store.ts";
import { targetOf } from "./forward/target.ts";

export interface Gateway {
  readonly answer: Fallback;
  /** To be called after a change of services in this isolate. */
  recordsChanged(): void;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const registry = createRegistry(createRegistryStore(deps.db), deps.allowLoopback);
  const context: Context = { ...deps, registry, breakers: createBreakers() };
  return {
    async answer(call) {
      const service = await registry.find(call.path, call.nowMs);
      if (service === undefined) return undefined;
      return isPreflight(call.request) ? answerPreflight(call.request) : pass(call, service, context);
    },
    recordsChanged: () => registry.clear(),
  };
}

async function pass(call: FallbackCall, service: Registered, context: Context): Promise<Response | Problem> {
  const given = readHeaders(call.request.headers, LIMITS.requestHeaderBytes);
  if (given === undefined)
    return invalid("invalid_header", "", `The headers are larger than ${LIMITS.requestHeaderBytes} bytes.`);
  const passing: Passing = { call, service, method: call.request.method, given };
  const refused = await refuseRequest(passing, context);
  if (refused !== undefined) return refused;
  const caller = await admitCaller(passing, context);
  if (!caller.ok) return caller.error;
  const target = findTarget(call, service);
  if (!target.ok) return target.error;

  const publicPath = `${context.pathPrefix}${service.proxyPath}`;
  const { url, requestId } = call;
  // The runtime would make a GET of anything.
  const isUpgrade = passing.method === "GET" && given.get("upgrade")?.toLowerCase() === "websocket";
  const principal = caller.value;
  const authorization = await authorizationFor(principal, service, call, context);
  const facts = { headers: given, url, publicPath, principal, authorization, requestId, isUpgrade };
  const headers = requestHeaders({ ...facts, sessionId: sessionIdOf(given, context) }, context.names);
  return exchange({ ...passing, principal }, target.value, headers, context);
}

/** What no service is asked for. */
async function refuseRequest(
  { call, service, method, given }: Passing,
  { names }: Context,
): Promise<Problem | undefined> {
  // Its answer would be the request itself, with the headers that are no business of the caller's.
  if (method === "TRACE")
    return problem("unsupported_method", "TRACE is not passed on.", {
      headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
    });
  // The runtime sends none with these, and a service that means something by it would not get it (RFC 9110 9.3.1).
  if (isToRead(method) && (await hasBytes(call.request.body, lengthOf(given))))
    return invalid("invalid_field", "", `A ${method} is passed on without a body: send none, or another method.`);
  if (given.has("service-worker") && !service.trusted)
    return problem(
      "insufficient_permissions",
      "A script for a service worker is passed on for a trusted service alone.",
    );
  if ((lengthOf(given) ?? 0) > LIMITS.requestBodyBytes) return tooLarge();
  if (hopsOf(given, names) >= LIMITS.hops)
    return unavailable("The request goes in circles: its service's source leads back to the gateway.", 60, "loop");
  return undefined;
}

/** Of a body in chunks its first piece tells: it may have none (contract 1.2). */
async function hasBytes(body: ReadableStream<Uint8Array> | null, declared: number | undefined): Promise<boolean> {
  if (body === null || declared !== undefined) return body !== null && declared !== 0;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value.byteLength > 0) return !done;
    }
  } catch {
    // The caller broke it off.
    return true;
  } finally {
    reader.releaseLock();
  }
}

/** The caller's own, else one that is made for this request: it tells requests apart and decides about none. */
function sessionIdOf(given: GivenHeaders, { names, random }: Context): string {
  const sessionId = given.get(names.header("session-id")) ?? "";
  return SESSION_ID.test(sessionId) ? sessionId : randomId(random);
}

function findTarget(call: FallbackCall, { name, address, proxyPath }: Registered): Result<string, Problem> {
  if (!address.ok) return err(unanswered(name, 60, `sourceUrl ${address.error}`));
  const target = targetOf(address.value, call.path.slice(proxyPath.length), call.url.search);
  return target.ok ? target : err(invalid("invalid_uri_parameter", "path", target.error));
}
