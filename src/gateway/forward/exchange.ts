import { authenticate, type Principal } from "../../http/callers/auth.ts";
import { problem, type Problem } from "../../http/errors/errors.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import type { Log } from "../../platform/runtime/log.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import { mayUse, type AdmissionDeps, type GatewayRequest } from "../admission/admission.ts";
import type { Breakers, CallOutcome } from "../breaker/breakers.ts";
import { callerOf } from "../breaker/caller.ts";
import { contentLength, isReadMethod, readHeaders, type OutgoingHeaders } from "../model/headers.ts";
import { LIMITS } from "../model/limits.ts";
import { bodyTooLarge, serviceUnavailable, unavailable } from "../model/problems.ts";
import type { Registry } from "../registry/registry.ts";
import { isRangeOfRewritten, isUnusable, readResponse, toResponse } from "../response/response.ts";
import { forward, type ForwardResult } from "./forward.ts";
import { CLOSINGS, relayWebSocket, type Closing } from "./web-socket.ts";

export interface ExchangeDeps extends Pick<AdmissionDeps, "names" | "verifier" | "access"> {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly pathPrefix: string;
  /** Maximum wait for a service's headers, and between two pieces of its body. */
  readonly timeoutMs: number;
  readonly tracing: Tracing;
  readonly registry: Registry;
  readonly breakers: Breakers;
}

export interface AdmittedRequest extends GatewayRequest {
  readonly principal: Principal | undefined;
}

const RETRY_AFTER_SEC = 5;

/** Sends an admitted request to its service, unless a breaker is open, and returns the response. */
export async function exchange(
  deps: ExchangeDeps,
  request: AdmittedRequest,
  target: string,
  headers: OutgoingHeaders,
): Promise<Response | Problem> {
  const { call, service, method, headers: received, principal } = request;
  const { breakers, clock, log, timeoutMs } = deps;
  const breakerCall = { service: `${service.name} ${service.sourceUrl}`, caller: callerOf(principal, received) };
  const admission = breakers.admit(breakerCall, clock.nowMs());
  if ("scope" in admission) {
    countFailure(deps, request);
    const reason = `the breaker is open for ${admission.scope}`;
    return serviceUnavailable(service.name, Math.ceil(admission.retryAfterMs / 1000), reason);
  }

  const body = isReadMethod(method) ? null : call.request.body;
  const sent = { target, method, body, lengthBytes: contentLength(received), timeoutMs };
  const send = (given: OutgoingHeaders) =>
    deps.tracing.child(`${method} service`, { "peer.service": service.name }, async (span) => {
      const made = await forward({ ...sent, headers: { ...given, ...deps.tracing.outgoing(received) } });
      if (made.kind === "answered") span.set({ "http.response.status_code": made.response.status });
      else span.fail(made.kind);
      return made;
    });
  let result = await send(headers);
  const hasRange = isReadMethod(method) && headers["range"] !== undefined;
  if (result.kind === "answered" && hasRange && isRangeOfRewritten(result.response)) {
    result.response.body?.cancel().catch(() => undefined);
    result = await send(withoutRange(headers));
  }
  const reason = "reason" in result ? result.reason : undefined;
  const changes = breakers.settle(breakerCall, admission.tickets, OUTCOMES[result.kind], clock.nowMs());
  for (const { scope, change } of changes)
    log.warn(`breaker ${change}`, { service: service.name, for: scope, requestId: call.requestId, reason });

  if (result.kind !== "answered") await result.settled?.();
  switch (result.kind) {
    case "unreached":
    case "failed":
      countFailure(deps, request);
      return serviceUnavailable(service.name, RETRY_AFTER_SEC, result.reason);
    case "cut short":
      countFailure(deps, request);
      return unavailable(
        `The connection to the service ${service.name} was lost before it had taken the whole body.`,
        RETRY_AFTER_SEC,
        result.reason,
      );
    case "caller's fault":
      return result.fault === "too large"
        ? bodyTooLarge()
        : problem("bad_payload_syntax", "The body did not arrive whole.", { reason: "the caller broke off" });
    case "answered":
      return passOn(deps, { ...request, hasBody: body !== null }, result);
  }
}

/** Counts a failure by service and not by tenant: it says something about the service, not about the caller. */
const countFailure = ({ meter }: Pick<ExchangeDeps, "meter">, { service }: Pick<AdmittedRequest, "service">): void =>
  meter.add("service_failures", { service: "gateway", label: service.name });

const OUTCOMES: Record<ForwardResult["kind"], CallOutcome> = {
  answered: "answered",
  unreached: "unreached",
  failed: "failed",
  "cut short": "broken off",
  "caller's fault": "broken off",
};

/** Turns the service's response into the caller's. */
async function passOn(
  deps: ExchangeDeps,
  request: AdmittedRequest & { readonly hasBody: boolean },
  { response, deadline, isCallersFault, settled }: Extract<ForwardResult, { kind: "answered" }>,
): Promise<Response | Problem> {
  const { call, service, method, hasBody } = request;
  const { names, log, pathPrefix, timeoutMs } = deps;
  const { name, proxyPath, sourcePath } = service;
  const headers = readHeaders(response.headers, LIMITS.responseHeaderBytes);
  const received = headers === undefined ? undefined : readResponse(response, deadline, headers);
  if (received === undefined || isUnusable(received)) {
    response.body?.cancel().catch(() => undefined);
    await settled?.();
    countFailure(deps, request);
    const reason =
      received === undefined
        ? `headers over ${LIMITS.responseHeaderBytes} bytes`
        : "its status, or a part or a coding that was not asked for";
    return unavailable(`The service ${name} gave an answer that cannot be passed on.`, RETRY_AFTER_SEC, reason);
  }
  const responseDeps = {
    names,
    rewriter: service.rewriterTo(`${call.publicBase}${proxyPath}`),
    isolation: service.trusted ? undefined : { publicPath: `${pathPrefix}${proxyPath}`, sourcePath },
    idleMs: timeoutMs,
    relayWebSocket: (socket: WebSocket) => relayUntilTokenEnds(deps, request, socket),
    beforeEnd: settled,
    onPassedOn: (bytes: number) =>
      deps.meter.add("sent_bytes", { service: "gateway", tenant: request.principal?.tenant }, bytes),
    onBroken(thrown: unknown, isUseful: boolean): void {
      log.warn("answer broke off", { service: name, requestId: call.requestId, reason: String(thrown) });
      if (!isUseful && !isCallersFault()) countFailure(deps, request);
    },
  };
  const passedOn = await toResponse(responseDeps, received, { method, headers: request.headers, hasBody });
  if (passedOn !== undefined) return passedOn;
  // The service may have carried out the request, so it is not repeated: the caller decides.
  return unavailable(`The service ${name} broke off its answer.`, RETRY_AFTER_SEC, "half an answer");
}

/** Relays a WebSocket until the token ends. Without a token nothing ends it, so the runtime relays it alone. */
function relayUntilTokenEnds(deps: ExchangeDeps, request: AdmittedRequest, socket: WebSocket): WebSocket {
  const { principal } = request;
  if (principal === undefined) return socket;
  const expiresAtMs = principal.expiresAtSec * 1000;
  return relayWebSocket(socket, { clock: deps.clock, expiresAtMs, findClosing: () => findClosing(deps, request) });
}

/** The reason to close a WebSocket, if any. Checks service and token as for a new request, but counts no request. */
async function findClosing(
  { names, pathPrefix, verifier, access, registry, clock }: ExchangeDeps,
  { service, call, headers }: GatewayRequest,
): Promise<Closing | undefined> {
  const nowMs = clock.nowMs();
  const found = await registry.find(call.path, nowMs);
  if (found?.name !== service.name || found.sourceUrl !== service.sourceUrl) return CLOSINGS.gone;
  const { request, url } = call;
  const authorization = headers.get("authorization");
  const asked = pathPrefix + found.proxyPath;
  const presented = { authorization, proof: "checked", method: request.method, url, service: asked } as const;
  const caller = await authenticate(presented, verifier, names, nowMs);
  if (!caller.ok) return caller.error.type === "service_temporarily_unavailable" ? CLOSINGS.unknown : CLOSINGS.ended;
  return (await mayUse(access, caller.value, found, nowMs)) ? undefined : CLOSINGS.ended;
}

function withoutRange(headers: OutgoingHeaders): OutgoingHeaders {
  const { range: _, "if-range": __, ...whole } = headers;
  return whole;
}
