import { METHOD_NAME_ALL } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { getPath, tryDecodeURIComponent } from "hono/utils/url";
import { exposedHeaders } from "./cors.ts";
import { routesByHost } from "./host-routes.ts";
import { hostOf, separateHosts, type SeparateHost } from "./origins.ts";
import { answer, type Endpoint } from "./pipeline.ts";
import type { Route } from "./route.ts";
import type { Fallback, HttpDeps, Service } from "./service.ts";

export interface App {
  fetch(request: Request, env: unknown, context: Pick<ExecutionContext, "waitUntil">): Promise<Response>;
}

type EndpointAt = (host: SeparateHost | undefined) => Endpoint;

/** Answers by the services' tables of routes. Hono's router matches paths; pipeline.ts does the rest. */
export function mountServices(services: readonly Service[], deps: HttpDeps, fallback?: Fallback): App {
  const hosts = separateHosts(deps);
  const pipelineDeps = { ...deps, exposed: exposedHeaders(deps.names) };
  const nothing: Endpoint = { service: undefined, routes: [], fallback: undefined };
  const unmatched: Endpoint = { ...nothing, fallback };
  const router = new RegExpRouter<EndpointAt>();
  for (const service of services) {
    for (const [path, routes] of groupByPath(service.routes)) {
      const prefix = service.atRoot === true ? "" : deps.pathPrefix;
      const fullPath = `${prefix}${service.base}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
      const routesAt = routesByHost(service, routes, hosts);
      router.add(METHOD_NAME_ALL, fullPath, (host) => {
        const found = routesAt(host);
        return found === undefined ? nothing : { service, routes: found, fallback: undefined };
      });
    }
  }
  const elsewhere: EndpointAt = (host) => (host === undefined ? unmatched : nothing);
  return {
    fetch(request, _env, context) {
      const [matches, values = []] = router.match(METHOD_NAME_ALL, getPath(request));
      const [endpointAt, params] = matches[0] ?? [elsewhere, {}];
      const host = hostOf(request, hosts);
      return answer(pipelineDeps, endpointAt(host), {
        request,
        host,
        pathParams: () => paramsOf(params, values),
        waitUntil: (work) => context.waitUntil(work),
      });
    },
  };
}

/** The parameters of a path. The router tells the place of each among the values, or the value of one itself. */
function paramsOf(
  params: Readonly<Record<string, string | number>>,
  values: readonly string[],
): Record<string, string> {
  const decoded = Object.entries(params).map(([name, at]) => {
    const value = typeof at === "number" ? values[at] : at;
    return [name, tryDecodeURIComponent(value ?? "")] as const;
  });
  return Object.fromEntries(decoded);
}

function groupByPath(routes: readonly Route[]): Map<string, Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}
