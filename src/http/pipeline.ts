import { StoreUnavailable } from "../platform/storage/database.ts";
import { describeError } from "../platform/runtime/log.ts";
import { isObjectAway } from "../platform/runtime/object-away.ts";
import { randomId, type Random } from "../platform/runtime/random.ts";
import { ok } from "../platform/model/result.ts";
import { TryLater } from "../platform/model/try-later.ts";
import { networkOf } from "../platform/outside/ip-range.ts";
import type { Span } from "../platform/ports/tracing.ts";
import { redactSecrets } from "../platform/text/text.ts";
import { admit } from "./admit.ts";
import { authenticate, presentedBy, type Meanwhile, type Principal } from "./callers/auth.ts";
import { createBodyMemory } from "./input/body-memory.ts";
import { drain } from "./input/body.ts";
import { allowAnyOrigin, preflight } from "./cors.ts";
import { invalid, isProblem, problem, problemBody, PROBLEM_TYPES, type Problem } from "./errors/errors.ts";
import { refusedInMaintenance } from "./maintenance.ts";
import { publicUrlOf, type SeparateHost } from "./origins.ts";
import { parse } from "./parse.ts";
import { lengthIn, sizeOf } from "./request-meter.ts";
import type { Answer, AnyCall, Route } from "./route.ts";
import type { Fallback, HttpDeps, ProblemRenderer, Service } from "./service.ts";
import { validate } from "./input/validate.ts";
import type { WaitUntil } from "../platform/runtime/wait-until.ts";

const MAX_URL_CHARS = 16 * 1024;

interface PipelineDeps extends HttpDeps {
  /** Value for `allowAnyOrigin`. */
  readonly exposed: string;
}

/** A request as it comes from the router. */
export interface Incoming {
  readonly request: Request;
  /** The separate host that it came by, if any. */
  readonly host: SeparateHost | undefined;
  pathParams(): Record<string, string>;
  readonly waitUntil: WaitUntil;
}

/** The handlers at the address of a request. */
export interface Endpoint {
  readonly service: Service | undefined;
  /** The routes of the path, which differ in their method; none if no route matches. */
  readonly routes: readonly Route[];
  /** Asked if there are no routes. */
  readonly fallback: Fallback | undefined;
}

/** A request before its input is read. */
type RequestContext = Pick<
  AnyCall,
  "request" | "url" | "publicBase" | "requestId" | "nowMs" | "waitUntil" | "attributeTo" | "waited" | "checkToken"
>;

/** The answer of a route or of the fallback, and what its headers depend on. */
interface Outcome {
  readonly answer: Answer;
  readonly principal?: Principal | undefined;
  readonly route?: Route | undefined;
  /** The fallback answered, or failed. */
  readonly isOfFallback?: boolean;
  /** The fallback sets the cross-origin headers of its responses itself. */
  readonly setsCrossOrigin?: boolean;
}

/** A request with its response. */
interface Answered {
  readonly service: Service | undefined;
  readonly context: RequestContext;
  readonly outcome: Outcome;
  readonly response: Response;
  /** The tenant of the token, else the one that the request was attributed to; empty if there is none. */
  readonly tenant: string;
  /** The same of the client. */
  readonly clientId: string;
}

/**
 * Answers a request, the same way for every service: guard → authenticate → parse → handle. A `Problem` becomes the
 * service's error response, and a thrown error a 500 or 503 whose cause is in the log under the request id.
 */
export async function answer(deps: PipelineDeps, endpoint: Endpoint, incoming: Incoming): Promise<Response> {
  const { method, headers } = incoming.request;
  const { waitUntil } = incoming;
  return deps.tracing.root({ name: method, kind: "server", parent: headers, waitUntil }, (span) =>
    answerIn(span, deps, endpoint, incoming),
  );
}

async function answerIn(span: Span, deps: PipelineDeps, endpoint: Endpoint, incoming: Incoming): Promise<Response> {
  const { request, host } = incoming;
  const { service } = endpoint;
  const requestId = randomId(deps.random);
  const nowMs = deps.clock.nowMs();
  const requested = URL.parse(request.url);
  if (requested === null) return refuseHost(deps, request, requestId);
  const url = publicUrlOf(requested, deps, host);
  const publicBase = `${url.origin}${deps.pathPrefix}`;
  const waitUntil = (work: Promise<unknown>): void =>
    incoming.waitUntil(
      work.catch((thrown: unknown) =>
        deps.log.error("work after the answer failed", { requestId, error: describeError(thrown) }),
      ),
    );
  let attributed = { tenant: "", clientId: "" };
  const attributeTo = (tenant: string, clientId = ""): void => void (attributed = { tenant, clientId });
  let waitedMs = 0;
  const waited = (ms: number): void => void (waitedMs += ms);
  const checkToken = async (): Promise<Problem | undefined> => {
    const presented = { ...presentedBy(request, url), proof: "checked" } as const;
    const caller = await authenticate(presented, deps.verifier, deps.names, deps.clock.nowMs());
    return caller.ok ? undefined : caller.error;
  };
  const context: RequestContext = {
    request,
    url,
    publicBase,
    requestId,
    nowMs,
    waitUntil,
    attributeTo,
    waited,
    checkToken,
  };
  const outcome = await dispatch(deps, endpoint, incoming, context);
  const render =
    service?.renderProblem ??
    (service === undefined && host === undefined ? renderUnmatched(deps) : renderPlatformProblem);
  const response = isProblem(outcome.answer)
    ? renderRefusal(deps, render, context, outcome.answer, outcome.principal)
    : outcome.answer;
  // The response to a token is only for its holder, and soon outdated.
  if (outcome.principal !== undefined && !response.headers.has("cache-control"))
    response.headers.set("cache-control", "no-cache, private");
  const nextNonce = outcome.principal?.nextNonce;
  if (nextNonce !== undefined) response.headers.set("dpop-nonce", nextNonce);
  const crossOrigin = outcome.setsCrossOrigin !== true && (service?.crossOrigin ?? true);
  const finished = await finish(deps, service, context, response, crossOrigin);
  const tenant = outcome.principal?.tenant || attributed.tenant;
  const clientId = outcome.principal?.clientId || attributed.clientId;
  const answered = { service, context, outcome, response, tenant, clientId };
  meterAnswer(deps, answered, waitedMs);
  describe(span, answered);
  return finished;
}

/** Names the route and not the address, which may have a caller's text or a secret. */
function describe(span: Span, { service, context, outcome, response: { status }, tenant, clientId }: Answered): void {
  const { answer: answered, route } = outcome;
  const { method } = context.request;
  const path = route === undefined ? undefined : `${service?.base ?? ""}${route.path}`;
  if (path !== undefined) span.rename(`${method} ${path}`);
  if (status >= 500) span.fail(isProblem(answered) ? answered.type : String(status));
  span.set({
    "http.request.method": method,
    "http.route": path,
    "http.response.status_code": status,
    "error.type": isProblem(answered) ? answered.type : undefined,
    "request.id": context.requestId,
    operation: route?.operation,
    client: clientId || undefined,
    tenant: tenant || undefined,
  });
}

/** Counts the request in memory. Counts are sent in the background, so they never delay a response. */
function meterAnswer(
  { clock, meter }: PipelineDeps,
  { service, context, outcome, response, tenant }: Answered,
  waitedMs: number,
): void {
  const { request, nowMs, waitUntil } = context;
  const { answer: answered, principal, route, isOfFallback } = outcome;
  meter.answered({
    service: service?.name ?? (isOfFallback === true ? "gateway" : "platform"),
    operation: route?.operation,
    status: response.status,
    durationMs: Math.max(clock.nowMs() - nowMs - waitedMs, 0),
    waitedMs,
    tenant,
    clientId: principal?.clientId ?? "",
    refusal: isProblem(answered) ? answered.type : undefined,
    bytesIn: response.status < 400 ? lengthIn(request.headers) : 0,
    bytesOut: request.method === "HEAD" ? 0 : sizeOf(response),
  });
  meter.flushBeside(waitUntil);
}

async function dispatch(
  deps: PipelineDeps,
  { service, routes, fallback }: Endpoint,
  incoming: Incoming,
  context: RequestContext,
): Promise<Outcome> {
  const { request, url } = context;
  const { method } = request;
  if (url.href.length > MAX_URL_CHARS)
    return { answer: problem("uri_too_long", `The address is longer than ${MAX_URL_CHARS} characters.`) };
  const rests = refusedInMaintenance(deps.maintenance, service, request);
  if (rests !== undefined) return { answer: rests };
  if (routes.length === 0) return askFallback(deps, fallback, context);
  if (method === "OPTIONS") {
    const methods = allowedMethods(routes);
    const withoutCors = () => new Response(null, { status: 204, headers: { allow: methods.join(", ") } });
    return { answer: service?.crossOrigin === false ? withoutCors() : preflight(methods, deps.names, request) };
  }
  const route = routes.find((candidate) => (method === "HEAD" ? takesHead(candidate) : candidate.method === method));
  if (route === undefined) {
    const methods = allowedMethods(routes).join(", ");
    return {
      answer: problem("unsupported_method", `This address takes ${methods}.`, { headers: { allow: methods } }),
    };
  }
  let principal: Principal | undefined;
  const handled = await problemIfThrown(deps, context, async () => {
    const refused = await service?.guard?.(request);
    if (refused !== undefined) return refused;
    const caller = await admit(route, service, deps, context, lookAhead(route, incoming, context));
    if (!caller.ok) return caller.error;
    principal = caller.value;
    const memory = createBodyMemory(context.requestId, () => ownerOf(principal, request), deps.clock);
    try {
      const call = await parse({ ...context, principal }, incoming.pathParams, route, memory);
      return call.ok ? await route.handle(call.value) : call.error;
    } finally {
      memory.release();
    }
  });
  return { answer: handled, principal, route };
}

/** Starts the look-ups of a route. Failures are ignored here: the handler runs into them again, and answers. */
function lookAhead(
  { ahead, params }: Route,
  incoming: Incoming,
  { nowMs, waitUntil }: RequestContext,
): Meanwhile | undefined {
  if (ahead === undefined) return undefined;
  return (principal) => {
    const found = params === undefined ? ok({}) : validate("path", params, incoming.pathParams());
    if (found.ok) waitUntil(ahead({ principal, params: found.value, nowMs }).catch(() => undefined));
  };
}

/** The one for whom a body counts: the tenant, else the client or the person at it, else the network. */
function ownerOf(principal: Principal | undefined, request: Request): string {
  if (principal === undefined) return `network ${networkOf(request.headers.get("cf-connecting-ip") ?? "")}`;
  const { tenant, clientId, user } = principal;
  return tenant === "" ? `caller ${JSON.stringify([clientId, user])}` : `tenant ${tenant}`;
}

/** A GET that changes nothing answers HEAD too, without the body (RFC 9110 section 9.3.2). */
const takesHead = ({ method, changes }: Route): boolean => method === "GET" && !changes;

function allowedMethods(routes: readonly Route[]): string[] {
  const methods = routes.map((route) => route.method as string);
  if (routes.some(takesHead)) methods.push("HEAD");
  return [...new Set([...methods, "OPTIONS"])];
}

async function askFallback(
  deps: PipelineDeps,
  fallback: Fallback | undefined,
  context: RequestContext,
): Promise<Outcome> {
  const { pathname } = context.url;
  const nothing = problem("element_resource_non_existing", "There is nothing at this address.");
  // `/base` and the paths below it, not `/basement`.
  if (fallback === undefined || !`${pathname}/`.startsWith(`${deps.pathPrefix}/`)) return { answer: nothing };
  let principal: Principal | undefined;
  const onIdentified = (caller: Principal): void => void (principal = caller);
  const path = pathname.slice(deps.pathPrefix.length);
  const answered = await problemIfThrown(
    deps,
    context,
    async () => (await fallback({ ...context, path, onIdentified })) ?? nothing,
  );
  return {
    answer: answered,
    principal,
    isOfFallback: answered !== nothing,
    setsCrossOrigin: answered instanceof Response,
  };
}

async function problemIfThrown(
  { log }: PipelineDeps,
  { requestId, url }: RequestContext,
  run: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof TryLater)
      return problem("service_temporarily_unavailable", thrown.message, {
        headers: { "retry-after": String(thrown.retryAfterSec) },
      });
    log.error("request failed", { requestId, path: redactSecrets(url.pathname), error: describeError(thrown) });
    return thrown instanceof StoreUnavailable || isObjectAway(thrown)
      ? problem("service_temporarily_unavailable", "The request could not be completed now.", {
          headers: { "retry-after": "5" },
        })
      : problem("internal_service_error", "The request could not be completed.");
  }
}

function renderRefusal(
  { log, random }: PipelineDeps,
  render: ProblemRenderer,
  { request, url, publicBase, requestId }: RequestContext,
  refused: Problem,
  principal: Principal | undefined,
): Response {
  log.info("request refused", {
    requestId,
    method: request.method,
    path: redactSecrets(url.pathname),
    type: refused.type,
    reason: refused.reason,
    client: principal?.clientId,
  });
  const response = render(refused, `${publicBase}/docs/errors`, requestId, { request, publicBase });
  for (const [name, value] of Object.entries(refused.headers)) response.headers.set(name, value);
  const retryAfter = response.headers.get("retry-after");
  if (response.status === 503 && retryAfter !== null) response.headers.set("retry-after", spread(retryAfter, random));
  return response;
}

/** Adds a random time, up to as much again, so that callers that were refused together do not retry together. */
function spread(retryAfter: string, random: Random): string {
  const seconds = Number(retryAfter);
  return String(seconds + Math.floor((seconds + 1) * (random.bytes(1)[0]! / 256)));
}

/** Refuses a `Host` that is not a host (RFC 9112 section 3.2). The runtime makes a URL of any `Host`. */
function refuseHost(deps: PipelineDeps, request: Request, requestId: string): Promise<Response> {
  const refused = invalid("invalid_header", "Host", "Host names no host.");
  deps.log.info("request refused", { requestId, type: refused.type, reason: refused.message });
  const base = deps.publicUrl || "http://invalid";
  const docsUrl = `${base}${deps.pathPrefix}/docs/errors`;
  const response = renderPlatformProblem(refused, docsUrl, requestId, { request, publicBase: base });
  return finish(deps, undefined, { request, url: new URL(base), requestId }, response, true);
}

const renderPlatformProblem: ProblemRenderer = (refused, docsUrl) =>
  new Response(JSON.stringify(problemBody(refused, docsUrl)), {
    status: PROBLEM_TYPES[refused.type].status,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });

/** Shows a page to a person at a wrong address. */
const renderUnmatched =
  ({ nothingHere }: PipelineDeps): ProblemRenderer =>
  (refused, docsUrl, requestId, asked) => {
    const isNothing = refused.type === "element_resource_non_existing";
    const page = isNothing ? nothingHere?.(asked.request, asked.publicBase) : undefined;
    return page ?? renderPlatformProblem(refused, docsUrl, requestId, asked);
  };

/** Sets the headers of every response, which is new for each request and so may be changed. */
async function finish(
  deps: PipelineDeps,
  service: Service | undefined,
  { request, url, requestId }: Pick<RequestContext, "request" | "url" | "requestId">,
  response: Response,
  crossOrigin: boolean,
): Promise<Response> {
  // A request may be refused before its body is read.
  if (!request.bodyUsed && request.body !== null) await drain(request.body);
  const { headers } = response;
  headers.set(deps.names.header("request-id"), requestId);
  headers.set("x-content-type-options", "nosniff");
  if (crossOrigin) allowAnyOrigin(headers, deps.exposed);
  service?.decorate?.(headers, url, response.status);
  return request.method === "HEAD" ? new Response(null, { status: response.status, headers }) : response;
}
