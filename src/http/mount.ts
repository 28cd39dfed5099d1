import type { Context } from "hono";
import type { HonoBase } from "hono/hono-base";
import type { BlankEnv, BlankSchema } from "hono/types";
import { exposedHeaders } from "./cors.ts";
import { routesByHost } from "./host-routes.ts";
import { hostOf, separateHosts, type SeparateHost } from "./origins.ts";
import { answer, type Endpoint } from "./pipeline.ts";
import type { Route } from "./route.ts";
import type { Fallback, HttpDeps, Service } from "./service.ts";

export type App = HonoBase<BlankEnv, BlankSchema>;

/** Turns the services' tables of routes into Hono handlers. Hono matches paths; pipeline.ts does the rest. */
export function mountServices(app: App, services: readonly Service[], deps: HttpDeps, fallback?: Fallback): void {
  const hosts = separateHosts(deps);
  const pipelineDeps = { ...deps, exposed: exposedHeaders(deps.names) };
  const nothing: Endpoint = { service: undefined, routes: [], fallback: undefined };
  const unmatched: Endpoint = { ...nothing, fallback };
  const answerAt = (context: Context, endpointAt: (host: SeparateHost | undefined) => Endpoint) => {
    const request = context.req.raw;
    const host = hostOf(request, hosts);
    return answer(pipelineDeps, endpointAt(host), {
      request,
      host,
      pathParams: () => context.req.param(),
      waitUntil: (work) => context.executionCtx.waitUntil(work),
    });
  };
  for (const service of services) {
    for (const [path, routes] of groupByPath(service.routes)) {
      const prefix = service.atRoot === true ? "" : deps.pathPrefix;
      const fullPath = `${prefix}${service.base}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
      const routesAt = routesByHost(service, routes, hosts);
      app.all(fullPath, (context) =>
        answerAt(context, (host) => {
          const found = routesAt(host);
          return found === undefined ? nothing : { service, routes: found, fallback: undefined };
        }),
      );
    }
  }
  app.notFound((context) => answerAt(context, (host) => (host === undefined ? unmatched : nothing)));
}

function groupByPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}
