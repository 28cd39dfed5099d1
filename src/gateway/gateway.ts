/**
 * The gateway (contract section 6): every path that no service of the platform itself has.
 *
 *   path ── registry.ts ──▶ the service with the longest proxy path, else 404
 *     └▶ preflight? answered here (preflight.ts)
 *     └▶ who calls: none or no valid token 401, a tenant that may not use the service 403
 *     └▶ where to: target.ts, platform/outside-address.ts again; circles and what climbs out are refused
 *     └▶ breaker.ts: a service that did not answer three times in a row is left alone for a while, 503
 *     └▶ headers (request-headers.ts), body counted (request-body.ts) ── forward.ts ──▶ the service
 *     ◀── its answer: headers (answer-headers.ts), body rewritten (rewrite.ts) or as it is (answer.ts, answer-body.ts)
 *
 * A registered service is called and nobody else: redirects are handed on. A request is sent once; only a part of a body
 * that has to be rewritten is asked for again, as a whole. Nothing is stored: the registry's copy and the breakers are in
 * the isolate's memory, and bodies pass piece by piece.
 */
import { authenticate, type ClientAccess, type Principal, type TokenVerifier } from "../http/auth.ts";
import { invalid, problem, type Problem } from "../http/errors.ts";
import type { Fallback, FallbackCall } from "../http/mount.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import { randomId, type Random } from "../platform/random.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { isPartOfRewritten, isUnreadable, lengthOf, toAnswer } from "./answer.ts";
import { createBreakers, type Breakers, type Outcome } from "./breaker.ts";
import { forward, type Forwarded } from "./forward.ts";
import { headerBytes, LIMITS } from "./limits.ts";
import { answerPreflight, isPreflight } from "./preflight.ts";
import { createRegistry, type Registered } from "./registry.ts";
import { hopsOf, requestHeaders } from "./request-headers.ts";
import { createRegistryStore } from "./store/registry-store.ts";
import { targetOf } from "./target.ts";

export interface GatewayDeps {
  readonly names: Names;
  readonly db: D1Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly verifier: TokenVerifier;
  readonly access: Pick<ClientAccess, "tenantUses">;
  readonly pathPrefix: string;
  readonly allowLoopback: boolean;
  /** How long a service may take to its headers, and between two pieces of its body. */
  readonly timeoutMs: number;
}

export interface Gateway {
  readonly answer: Fallback;
  /** To be called after a change of services in this isolate. */
  recordsChanged(): void;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const registry = createRegistry(createRegistryStore(deps.db), deps.allowLoopback);
  const context: Context = { ...deps, breakers: createBreakers() };
  return {
    async answer(call) {
      const service = await registry.find(call.path, call.nowMs);
      if (service === undefined) return undefined;
      return isPreflight(call.request) ? answerPreflight(call.request) : pass(call, service, context);
    },
    recordsChanged: () => registry.clear(),
  };
}

interface Context extends GatewayDeps {
  readonly breakers: Breakers;
}

async function pass(call: FallbackCall, service: Registered, context: Context): Promise<Response | Problem> {
  const refused = refuseRequest(call, context);
  if (refused !== undefined) return refused;
  const caller = await admitCaller(call, service, context);
  if (!caller.ok) return caller.error;
  const sessionId = readSessionId(call.request, context);
  if (!sessionId.ok) return sessionId.error;
  const target = findTarget(call, service);
  if (!target.ok) return target.error;

  const publicPath = `${context.pathPrefix}${service.proxyPath}`;
  const { request, url, requestId } = call;
  // The runtime would make a GET of anything.
  const isUpgrade = request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket";
  const { headers: given } = request;
  const facts = { headers: given, url, publicPath, principal: caller.value, requestId, isUpgrade };
  const headers = requestHeaders({ ...facts, sessionId: sessionId.value }, context.names);
  return exchange(call, service, target.value, headers, context);
}

/** What no service is asked for. */
function refuseRequest({ request }: FallbackCall, { names }: Context): Problem | undefined {
  // Its answer would be the request itself, with the headers that are no business of the caller's.
  if (request.method === "TRACE")
    return problem("unsupported_method", "TRACE is not passed on.", {
      headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
    });
  if (headerBytes(request.headers) > LIMITS.requestHeaderBytes)
    return invalid("invalid_header", "", `The headers are larger than ${LIMITS.requestHeaderBytes} bytes.`);
  if ((lengthOf(request.headers) ?? 0) > LIMITS.requestBodyBytes) return tooLarge();
  if (hopsOf(request.headers, names) >= LIMITS.hops)
    return unavailable("The request goes in circles: its service's source leads back to the gateway.", 60, "loop");
  return undefined;
}

async function admitCaller(
  call: FallbackCall,
  service: Registered,
  { names, verifier, access }: Context,
): Promise<Result<Principal | undefined, Problem>> {
  const { request, nowMs } = call;
  const isBearer = /^bearer\b/i.test(request.headers.get("authorization") ?? "");
  // Another scheme is between the caller and a public service.
  if (service.access === "public" && !isBearer) return ok(undefined);
  const caller = await authenticate(request, verifier, names, nowMs);
  if (!caller.ok) return caller;
  call.identified(caller.value);
  const { tenant } = caller.value;
  if (service.essential || tenant === service.tenant || (await access.tenantUses(caller.value, service.name, nowMs)))
    return caller;
  const whose = tenant === "" ? "A token without a tenant" : `The tenant ${tenant}`;
  return err(
    problem("insufficient_permissions", `${whose} has no package that includes the service ${service.name}.`, {
      reason: `tenant ${tenant || "none"} may not use service ${service.name}`,
    }),
  );
}

const SESSION_ID = /^[A-Za-z0-9._~-]{1,128}$/;

/** The caller's own, else one that is made for this request. */
function readSessionId({ headers }: Request, { names, random }: Context): Result<string, Problem> {
  const name = names.header("session-id");
  const given = headers.get(name);
  if (given === null || given === "") return ok(randomId(random));
  return SESSION_ID.test(given)
    ? ok(given)
    : err(invalid("invalid_header", name, `${name} must match ${SESSION_ID.source}.`));
}

function findTarget(call: FallbackCall, { name, address, proxyPath }: Registered): Result<URL, Problem> {
  if (!address.ok) return err(unanswered(name, 60, `sourceUrl ${address.error}`));
  const target = targetOf(address.value, call.path.slice(proxyPath.length), call.url.search);
  return target.ok ? target : err(invalid("invalid_uri_parameter", "path", target.error));
}

async function exchange(
  call: FallbackCall,
  service: Registered,
  target: URL,
  headers: Headers,
  context: Context,
): Promise<Response | Problem> {
  const { request, requestId } = call;
  const { breakers, clock, log, timeoutMs } = context;
  const key = `${service.name} ${service.sourceUrl}`;
  const admission = breakers.admit(key, clock.nowMs());
  if (!admission.admitted)
    return unanswered(service.name, Math.ceil(admission.retryAfterMs / 1000), "the breaker is open");

  const isSafe = request.method === "GET" || request.method === "HEAD";
  // A request to read has no body that means anything (RFC 9110 section 9.3.1).
  const body = isSafe ? null : request.body;
  const sent = { target, method: request.method, headers, body, lengthBytes: lengthOf(request.headers), timeoutMs };
  let forwarded = await forward(sent);
  if (forwarded.kind === "answered" && isSafe && isPartOfRewritten(forwarded.response)) {
    forwarded.response.body?.cancel().catch(() => undefined);
    forwarded = await forward({ ...sent, headers: withoutRange(headers) });
  }
  const { changed } = breakers.settle(key, admission.ticket, OUTCOMES[forwarded.kind], clock.nowMs());
  const why = "why" in forwarded ? forwarded.why : undefined;
  if (changed !== undefined) log.warn(`breaker ${changed}`, { service: service.name, requestId, reason: why });

  if (forwarded.kind !== "answered") await forwarded.rest?.();
  switch (forwarded.kind) {
    case "failed":
      return unanswered(service.name, RETRY_AFTER_SEC, forwarded.why);
    case "cut short":
      return unavailable(
        `The connection to the service ${service.name} was lost before it had taken the whole body.`,
        RETRY_AFTER_SEC,
        forwarded.why,
      );
    case "caller's fault":
      return forwarded.fault === "too large"
        ? tooLarge()
        : problem("bad_payload_syntax", "The body did not arrive whole.", { reason: "the caller broke off" });
    case "answered":
      return takeAnswer(forwarded, call, service, context);
  }
}

const OUTCOMES: Record<Forwarded["kind"], Outcome> = {
  answered: "answered",
  failed: "failed",
  "cut short": "broken off",
  "caller's fault": "broken off",
};

async function takeAnswer(
  { response, rest }: Extract<Forwarded, { kind: "answered" }>,
  { request, publicBase, requestId }: FallbackCall,
  service: Registered,
  { names, log, timeoutMs }: Context,
): Promise<Response | Problem> {
  const { name } = service;
  const tooMuch = headerBytes(response.headers) > LIMITS.answerHeaderBytes;
  if (tooMuch || isUnreadable(response)) {
    response.body?.cancel().catch(() => undefined);
    await rest?.();
    const reason = tooMuch
      ? `headers over ${LIMITS.answerHeaderBytes} bytes`
      : "its status, or a coding that was not asked for";
    return unavailable(`The service ${name} gave an answer that cannot be passed on.`, RETRY_AFTER_SEC, reason);
  }
  const answer = await toAnswer(response, request, {
    names,
    rewriter: service.rewriterTo(`${publicBase}${service.proxyPath}`),
    idleMs: timeoutMs,
    beforeEnd: rest,
    brokeOff: (thrown) => log.warn("answer broke off", { service: name, requestId, reason: String(thrown) }),
  });
  // Whether it did what it was asked nobody can tell.
  return answer ?? unavailable(`The service ${name} broke off its answer.`, RETRY_AFTER_SEC, "half an answer");
}

function withoutRange(headers: Headers): Headers {
  const whole = new Headers(headers);
  whole.delete("range");
  whole.delete("if-range");
  return whole;
}

const RETRY_AFTER_SEC = 5;

const tooLarge = (): Problem =>
  problem("bad_payload_size", `The body is larger than ${LIMITS.requestBodyBytes} bytes.`);

const unanswered = (name: string, retryAfterSec: number, reason: string): Problem =>
  unavailable(`The service ${name} does not answer at the moment.`, retryAfterSec, reason);

const unavailable = (message: string, retryAfterSec: number, reason: string): Problem =>
  problem("service_temporarily_unavailable", message, {
    headers: { "retry-after": String(Math.max(1, retryAfterSec)) },
    reason,
  });
