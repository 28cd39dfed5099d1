import type { Context } from "hono";
import type { HonoBase } from "hono/hono-base";
import type { BlankEnv, BlankSchema } from "hono/types";
import { StoreUnavailable } from "../platform/database.ts";
import { describeError } from "../platform/log.ts";
import { randomId } from "../platform/random.ts";
import { redactSecrets } from "../platform/text.ts";
import { admit } from "./admit.ts";
import type { Principal } from "./auth.ts";
import { drain } from "./body.ts";
import { allowAnyOrigin, exposedHeaders, preflight } from "./cors.ts";
import { invalid, isProblem, problem, problemBody, PROBLEM_TYPES, type Problem } from "./errors.ts";
import { hostOf, hostsApart, leadingTo, publicUrlOf, type HostsApart } from "./origins.ts";
import { parse } from "./parse.ts";
import type { Route } from "./route.ts";
import type { Fallback, HttpDeps, ProblemRenderer, Service } from "./service.ts";

const MAX_URL_CHARS = 16 * 1024;

/** What is the same for every request. */
interface Shared extends HttpDeps {
  /** For `allowAnyOrigin`. */
  readonly exposed: string;
  readonly fallback: Fallback | undefined;
  readonly hosts: HostsApart;
}

export type App = HonoBase<BlankEnv, BlankSchema>;

/**
 * The way of a request, the same for every service: one table of routes becomes Hono handlers here and nowhere else.
 * Hono matches paths; this file finds the method, the caller, the input, and turns every outcome into an answer.
 */
export function mountServices(app: App, services: readonly Service[], deps: HttpDeps, fallback?: Fallback): void {
  const hosts = hostsApart(deps);
  const shared: Shared = { ...deps, exposed: exposedHeaders(deps.names), fallback, hosts };
  const nothing = (context: Context) => answer(context, undefined, [], { ...shared, fallback: undefined });
  for (const service of services) {
    for (const [path, routes] of groupByPath(service.routes)) {
      const prefix = service.atRoot === true ? "" : deps.pathPrefix;
      const fullPath = `${prefix}${service.base}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
      const { origin } = service;
      const atService = origin === undefined || origin === "any" ? routes : leadingTo(hosts, origin, routes);
      app.all(fullPath, (context) => {
        const host = hostOf(context.req.raw, hosts);
        if (host === undefined) return answer(context, service, atService, shared);
        return origin === "any" || origin === host ? answer(context, service, routes, shared) : nothing(context);
      });
    }
  }
  app.notFound((context) =>
    hostOf(context.req.raw, hosts) === undefined ? answer(context, undefined, [], shared) : nothing(context),
  );
}

function groupByPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}

async function answer(
  context: Context,
  service: Service | undefined,
  routes: readonly Route[],
  deps: Shared,
): Promise<Response> {
  const requestId = randomId(deps.random);
  const nowMs = deps.clock.nowMs();
  const asked = URL.parse(context.req.raw.url);
  if (asked === null) return refuseHost(context.req.raw, requestId, deps);
  const url = publicUrlOf(asked, deps, hostOf(context.req.raw, deps.hosts));
  const publicBase = `${url.origin}${deps.pathPrefix}`;
  const learnt: Learnt = { principal: undefined, crossOrigin: service?.crossOrigin ?? true };
  let outcome: Response | Problem;
  try {
    outcome = await dispatch({ context, service, routes, deps, requestId, nowMs, url, publicBase, learnt });
  } catch (thrown) {
    deps.log.error("request failed", { requestId, path: redactSecrets(url.pathname), error: describeError(thrown) });
    outcome =
      thrown instanceof StoreUnavailable
        ? problem("service_temporarily_unavailable", "The request could not be completed now.", {
            headers: { "retry-after": "5" },
          })
        : problem("internal_service_error", "The request could not be completed.");
  }
  if (isProblem(outcome)) {
    const { type, reason } = outcome;
    deps.log.info("request refused", {
      requestId,
      method: context.req.method,
      path: redactSecrets(url.pathname),
      type,
      reason,
      client: learnt.principal?.clientId,
    });
    const refused = outcome;
    outcome = (service?.renderProblem ?? renderPlatformProblem)(refused, `${publicBase}/docs/errors`, requestId, {
      request: context.req.raw,
      publicBase,
    });
    for (const [name, value] of Object.entries(refused.headers)) outcome.headers.set(name, value);
  }
  // What a token was needed for is nobody else's, and what was so once may be so no more.
  if (learnt.principal !== undefined && !outcome.headers.has("cache-control"))
    outcome.headers.set("cache-control", "no-cache, private");
  return finish(outcome, context.req.raw, { service, crossOrigin: learnt.crossOrigin }, url, requestId, deps);
}

/** The runtime makes the address of whatever stands in `Host`; what is no host is the caller's mistake (RFC 9112 3.2). */
function refuseHost(request: Request, requestId: string, deps: Shared): Promise<Response> {
  const refused = invalid("invalid_header", "Host", "Host names no host.");
  deps.log.info("request refused", { requestId, type: refused.type, reason: refused.message });
  const base = deps.publicUrl || "http://invalid";
  const docsUrl = `${base}${deps.pathPrefix}/docs/errors`;
  const answered = renderPlatformProblem(refused, docsUrl, requestId, { request, publicBase: base });
  return finish(answered, request, { service: undefined, crossOrigin: true }, new URL(base), requestId, deps);
}

export const renderPlatformProblem: ProblemRenderer = (given, docsUrl) =>
  new Response(JSON.stringify(problemBody(given, docsUrl)), {
    status: PROBLEM_TYPES[given.type].status,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });

interface Incoming {
  readonly context: Context;
  readonly service: Service | undefined;
  readonly routes: readonly Route[];
  readonly deps: Shared;
  readonly requestId: string;
  readonly nowMs: number;
  readonly url: URL;
  readonly publicBase: string;
  readonly learnt: Learnt;
}

/** What turns out on the way and decides about the answer's headers. */
interface Learnt {
  principal: Principal | undefined;
  /** Whether the answer is made readable for any origin; one of the fallback says so itself. */
  crossOrigin: boolean;
}

async function dispatch(incoming: Incoming): Promise<Response | Problem> {
  const { context, routes, deps, url } = incoming;
  const method = context.req.method;
  if (url.href.length > MAX_URL_CHARS)
    return problem("uri_too_long", `The address is longer than ${MAX_URL_CHARS} characters.`);
  if (routes.length === 0) {
    return (
      (await askFallback(incoming)) ?? problem("element_resource_non_existing", "There is nothing at this address.")
    );
  }
  if (method === "OPTIONS") {
    const methods = allowedMethods(routes);
    return incoming.service?.crossOrigin === false
      ? new Response(null, { status: 204, headers: { allow: methods.join(", ") } })
      : preflight(methods, deps.names);
  }
  const route = routes.find((candidate) => (method === "HEAD" ? takesHead(candidate) : candidate.method === method));
  if (route === undefined) {
    const methods = allowedMethods(routes).join(", ");
    return problem("unsupported_method", `This address takes ${methods}.`, { headers: { allow: methods } });
  }
  const refused = await incoming.service?.guard?.(context.req.raw);
  if (refused !== undefined) return refused;
  const caller = await admit(route, context.req.raw, incoming.service, deps, incoming.nowMs);
  if (!caller.ok) return caller.error;
  incoming.learnt.principal = caller.value;
  const { requestId, nowMs, publicBase } = incoming;
  const waitUntil = waitUntilOf(incoming);
  const given = { request: context.req.raw, url, publicBase, requestId, nowMs, principal: caller.value, waitUntil };
  const call = await parse(given, () => context.req.param(), route);
  return call.ok ? await route.handle(call.value) : call.error;
}

/** What a GET that changes nothing answers, without the body (RFC 9110 9.3.2). */
const takesHead = ({ method, changes }: Route): boolean => method === "GET" && !changes;

function allowedMethods(routes: readonly Route[]): string[] {
  const methods = routes.map((route) => route.method as string);
  if (routes.some(takesHead)) methods.push("HEAD");
  return [...new Set([...methods, "OPTIONS"])];
}

const waitUntilOf =
  ({ context, requestId, deps }: Incoming) =>
  (work: Promise<unknown>): void =>
    context.executionCtx.waitUntil(
      work.catch((thrown: unknown) =>
        deps.log.error("work after the answer failed", { requestId, error: describeError(thrown) }),
      ),
    );

async function askFallback(incoming: Incoming): Promise<Response | Problem | undefined> {
  const { context, requestId, nowMs, url, publicBase, learnt } = incoming;
  const { pathPrefix, fallback } = incoming.deps;
  // `/base` and what is below it, not `/basement`.
  if (fallback === undefined || !`${url.pathname}/`.startsWith(`${pathPrefix}/`)) return undefined;
  const path = url.pathname.slice(pathPrefix.length);
  const waitUntil = waitUntilOf(incoming);
  const identified = (caller: Principal): void => void (learnt.principal = caller);
  const request = context.req.raw;
  const answered = await fallback({ request, url, publicBase, path, requestId, nowMs, waitUntil, identified });
  if (answered instanceof Response) learnt.crossOrigin = false;
  return answered;
}

async function finish(
  response: Response,
  request: Request,
  { service, crossOrigin }: { readonly service: Service | undefined; readonly crossOrigin: boolean },
  url: URL,
  requestId: string,
  deps: Shared,
): Promise<Response> {
  // A refusal may come before the body was read.
  if (!request.bodyUsed && request.body !== null) await drain(request.body);
  // A room makes each of its answers anew, so the headers may be written.
  const { headers } = response;
  headers.set(deps.names.header("request-id"), requestId);
  headers.set("x-content-type-options", "nosniff");
  if (crossOrigin) allowAnyOrigin(headers, deps.exposed);
  service?.decorate?.(headers, url, response.status);
  return request.method === "HEAD" ? new Response(null, { status: response.status, headers }) : response;
}
