/**
 * The gateway: answers every path that no service of the platform has.
 *
 *   path ── registry/ ──▶ the service with the longest proxy path, else 404
 *     └▶ admission/checks.ts: a preflight is answered here; TRACE, bodies of GET, loops are refused
 *     └▶ admission/resource-metadata.ts: metadata that names the issuer, to which a service's 401 points clients
 *     └▶ admission/admission.ts: no valid token 401, a tenant that may not use the service 403
 *     └▶ forward/target.ts: the private address, checked again; a path that leads above the service is refused
 *     └▶ admission/service-token.ts: replaces the caller's token for a service of another tenant
 *     └▶ breaker/: 503 for some seconds if the service repeatedly did not answer
 *     └▶ forward/: headers (request-headers.ts) and counted body (request-body.ts) go to the service
 *     ◀── a WebSocket, for as long as the token is valid (forward/web-socket.ts)
 *     ◀── response/: headers, and the body as it is or rewritten (rewrite/)
 *
 * Only registered services are called: redirects are passed on, not followed. A request is sent once, except a range of
 * a body that has to be rewritten, which is requested again as a whole. Nothing is stored: the copy of the registry and
 * the breakers are in the isolate's memory, and bodies pass piece by piece.
 */
import { TOKEN_SCHEME, type ClientAccess } from "../http/callers/auth.ts";
import { invalid, type Problem } from "../http/errors/errors.ts";
import type { Fallback, FallbackCall } from "../http/service.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { LocationCache } from "../platform/copies/location-cache.ts";
import { randomId, type Random } from "../platform/runtime/random.ts";
import { err, type Result } from "../platform/model/result.ts";
import { SESSION_ID } from "../platform/model/session-id.ts";
import { admitCaller, type AdmissionDeps, type GatewayRequest } from "./admission/admission.ts";
import { answerPreflight, checkRequest, isPreflight } from "./admission/checks.ts";
import {
  answerMetadata,
  isMetadataPath,
  withMetadata,
  type ResourceMetadataDeps,
} from "./admission/resource-metadata.ts";
import { authorizationFor, type ServiceTokenDeps } from "./admission/service-token.ts";
import { createBreakers } from "./breaker/breakers.ts";
import { exchange, type ExchangeDeps } from "./forward/exchange.ts";
import { requestHeaders } from "./forward/request-headers.ts";
import { targetOf } from "./forward/target.ts";
import { readHeaders, type ReceivedHeaders } from "./model/headers.ts";
import { LIMITS } from "./model/limits.ts";
import { serviceUnavailable } from "./model/problems.ts";
import { createRegistryStore } from "./registry/registry-store.ts";
import { createRegistry, type RegisteredService } from "./registry/registry.ts";

interface ForwardDeps extends AdmissionDeps, ServiceTokenDeps, ExchangeDeps {
  readonly access: Pick<ClientAccess, "tenantUses" | "belongsTo">;
  readonly random: Random;
}

export interface GatewayDeps extends Omit<ForwardDeps, "registry" | "breakers">, ResourceMetadataDeps {
  readonly db: D1Database;
  readonly allowLoopback: boolean;
  readonly isolate: Isolate;
  readonly location: LocationCache;
}

export interface Gateway {
  readonly answer: Fallback;
  /** The service of a path below the prefix. */
  find(path: string, nowMs: number): Promise<RegisteredService | undefined>;
  /** Clears the cached registry. Call it after a change of services in this isolate. */
  recordsChanged(): void;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const registry = createRegistry(createRegistryStore(deps.db), deps.allowLoopback, deps.isolate, deps.location);
  const forwardDeps: ForwardDeps = { ...deps, registry, breakers: createBreakers() };
  return {
    async answer(call) {
      if (isMetadataPath(call.path)) return answerMetadata(deps, registry, call);
      // The verifier's lookup and that of the service do not depend on each other, so start both.
      if (TOKEN_SCHEME.test(call.request.headers.get("authorization") ?? "")) deps.verifier.begin(call.nowMs);
      const service = await registry.find(call.path, call.nowMs);
      if (service === undefined) return undefined;
      return isPreflight(call.request) ? answerPreflight(call.request) : forward(forwardDeps, call, service);
    },
    find: registry.find,
    recordsChanged: () => registry.clear(),
  };
}

async function forward(deps: ForwardDeps, call: FallbackCall, service: RegisteredService): Promise<Response | Problem> {
  const headers = readHeaders(call.request.headers, LIMITS.requestHeaderBytes);
  if (headers === undefined)
    return invalid("invalid_header", "", `The headers are larger than ${LIMITS.requestHeaderBytes} bytes.`);
  const request: GatewayRequest = { call, service, method: call.request.method, headers };
  const refused = await checkRequest(deps, request);
  if (refused !== undefined) return refused;
  const caller = await admitCaller(deps, request);
  if (!caller.ok) return withMetadata(caller.error, service, call.publicBase);
  const target = findTarget(call, service);
  if (!target.ok) return target.error;

  const { url, requestId } = call;
  const principal = caller.value;
  const context = {
    headers,
    url,
    publicPath: `${deps.pathPrefix}${service.proxyPath}`,
    principal,
    authorization: await authorizationFor(deps, principal, service, call),
    requestId,
    sessionId: sessionIdOf(deps, headers),
    // The runtime would turn an upgrade with any other method into a GET.
    isUpgrade: request.method === "GET" && headers.get("upgrade")?.toLowerCase() === "websocket",
  };
  return exchange(deps, { ...request, principal }, target.value, requestHeaders(context, deps.names));
}

/** The caller's session id, or a new one. It only correlates requests; no decision depends on it. */
function sessionIdOf({ names, random }: Pick<ForwardDeps, "names" | "random">, headers: ReceivedHeaders): string {
  const sessionId = headers.get(names.header("session-id")) ?? "";
  return SESSION_ID.test(sessionId) ? sessionId : randomId(random);
}

function findTarget(call: FallbackCall, { name, address, proxyPath }: RegisteredService): Result<string, Problem> {
  if (!address.ok) return err(serviceUnavailable(name, 60, `sourceUrl ${address.error}`));
  const target = targetOf(address.value, call.path.slice(proxyPath.length), call.url.search);
  return target.ok ? target : err(invalid("invalid_uri_parameter", "path", target.error));
}
