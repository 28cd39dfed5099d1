/**
 * The gateway (contract section 6): every path that no service of the platform itself has.
 *
 *   path ── registry.ts ──▶ the service with the longest proxy path, else 404
 *     └▶ preflight? answered here (preflight.ts)
 *     └▶ who calls: none or no valid token 401, a tenant that may not use the service 403
 *     └▶ where to: target.ts, platform/outside-address.ts again; circles and what climbs out are refused
 *     └▶ breakers.ts: a service that did not answer a caller three times in a row is left alone for a while, 503
 *     └▶ service-token.ts: what a service of another tenant gets in the place of the caller's token
 *     └▶ headers (request-headers.ts), body counted (request-body.ts) ── forward.ts ──▶ the service
 *     ◀── its answer: headers (answer-headers.ts), body rewritten (rewrite.ts) or as it is (answer.ts, answer-body.ts)
 *
 * A registered service is called and nobody else: redirects are handed on. A request is sent once; only a part of a body
 * that has to be rewritten is asked for again, as a whole. Nothing is stored: the registry's copy and the breakers are in
 * the isolate's memory, and bodies pass piece by piece.
 */
import { authenticate, type ClientAccess, type Principal, type TokenVerifier } from "../http/auth.ts";
import { invalid, problem, type Problem } from "../http/errors.ts";
import type { Limits } from "../http/limits.ts";
import type { Fallback, FallbackCall } from "../http/service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import { randomId, type Random } from "../platform/random.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { SESSION_ID } from "../platform/session-id.ts";
import { isPartOfRewritten, isUnreadable, readAnswer, toAnswer } from "./answer.ts";
import { createBreakers, type Breakers, type Ending } from "./breakers.ts";
import { callerOf } from "./caller.ts";
import { forward, type Forwarded } from "./forward.ts";
import { LIMITS } from "./limits.ts";
import { answerPreflight, isPreflight } from "./preflight.ts";
import { lengthOf, readHeaders, type GivenHeaders, type MadeHeaders } from "./read-headers.ts";
import { createRegistry, type Registered } from "./registry.ts";
import { hopsOf, requestHeaders } from "./request-headers.ts";
import { createRegistryStore } from "./store/registry-store.ts";
import { authorizationFor, type ServiceToken } from "./service-token.ts";
import { targetOf } from "./target.ts";

export interface GatewayDeps {
  readonly names: Names;
  readonly db: D1Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly verifier: TokenVerifier;
  readonly access: Pick<ClientAccess, "tenantUses" | "belongsTo">;
  readonly serviceToken: ServiceToken;
  readonly limits: Limits;
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

/** A request on its way to a service. */
interface Passing {
  readonly call: FallbackCall;
  readonly service: Registered;
  readonly method: string;
  readonly given: GivenHeaders;
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
  return exchange(passing, target.value, headers, callerOf(principal, given), context);
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

async function admitCaller(
  { call, service, given }: Passing,
  { names, verifier, access, limits }: Context,
): Promise<Result<Principal | undefined, Problem>> {
  const { nowMs } = call;
  const authorization = given.get("authorization");
  // Another scheme is between the caller and a public service.
  if (service.access === "public" && !/^bearer\b/i.test(authorization ?? "")) {
    const excess = await limits.stranger(call.request, "content");
    return excess === undefined ? ok(undefined) : err(excess);
  }
  const caller = await authenticate(authorization, verifier, names, nowMs);
  if (caller.ok) call.identified(caller.value);
  const excess = await (caller.ok ? limits.caller(caller.value) : limits.stranger(call.request));
  if (excess !== undefined) return err(excess);
  if (!caller.ok) return caller;
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

async function exchange(
  passing: Passing,
  target: string,
  headers: MadeHeaders,
  caller: string,
  context: Context,
): Promise<Response | Problem> {
  const { call, service, method, given } = passing;
  const { breakers, clock, log, timeoutMs } = context;
  const called = { service: `${service.name} ${service.sourceUrl}`, caller };
  const admission = breakers.admit(called, clock.nowMs());
  if ("felt" in admission)
    return unanswered(
      service.name,
      Math.ceil(admission.retryAfterMs / 1000),
      `the breaker is open for ${admission.felt}`,
    );

  const body = isToRead(method) ? null : call.request.body;
  const sent = { target, method, headers, body, lengthBytes: lengthOf(given), timeoutMs };
  let forwarded = await forward(sent);
  const asksForPart = isToRead(method) && headers["range"] !== undefined;
  if (forwarded.kind === "answered" && asksForPart && isPartOfRewritten(forwarded.response)) {
    forwarded.response.body?.cancel().catch(() => undefined);
    forwarded = await forward({ ...sent, headers: withoutRange(headers) });
  }
  const reason = "why" in forwarded ? forwarded.why : undefined;
  for (const { felt, now } of breakers.settle(called, admission.passed, ENDINGS[forwarded.kind], clock.nowMs()))
    log.warn(`breaker ${now}`, { service: service.name, for: felt, requestId: call.requestId, reason });

  if (forwarded.kind !== "answered") await forwarded.rest?.();
  switch (forwarded.kind) {
    case "unreached":
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
      return takeAnswer(forwarded, { ...passing, hasBody: body !== null }, context);
  }
}

const isToRead = (method: string): boolean => method === "GET" || method === "HEAD";

const ENDINGS: Record<Forwarded["kind"], Ending> = {
  answered: "answered",
  unreached: "unreached",
  failed: "failed",
  "cut short": "broken off",
  "caller's fault": "broken off",
};

async function takeAnswer(
  { response, patience, rest }: Extract<Forwarded, { kind: "answered" }>,
  { call, service, method, given, hasBody }: Passing & { readonly hasBody: boolean },
  { names, log, pathPrefix, timeoutMs }: Context,
): Promise<Response | Problem> {
  const { name, proxyPath, sourcePath } = service;
  const headers = readHeaders(response.headers, LIMITS.answerHeaderBytes);
  const answered = headers === undefined ? undefined : readAnswer(response, patience, headers);
  if (answered === undefined || isUnreadable(answered)) {
    response.body?.cancel().catch(() => undefined);
    await rest?.();
    const reason =
      answered === undefined
        ? `headers over ${LIMITS.answerHeaderBytes} bytes`
        : "its status, or a part or a coding that was not asked for";
    return unavailable(`The service ${name} gave an answer that cannot be passed on.`, RETRY_AFTER_SEC, reason);
  }
  const answer = await toAnswer(
    answered,
    { method, headers: given, hasBody },
    {
      names,
      rewriter: service.rewriterTo(`${call.publicBase}${proxyPath}`),
      apart: service.trusted ? undefined : { publicPath: `${pathPrefix}${proxyPath}`, sourcePath },
      idleMs: timeoutMs,
      beforeEnd: rest,
      brokeOff: (thrown) =>
        log.warn("answer broke off", { service: name, requestId: call.requestId, reason: String(thrown) }),
    },
  );
  // Whether it did what it was asked nobody can tell.
  return answer ?? unavailable(`The service ${name} broke off its answer.`, RETRY_AFTER_SEC, "half an answer");
}

function withoutRange(headers: MadeHeaders): MadeHeaders {
  const { range: _, "if-range": __, ...whole } = headers;
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
