import type { SeparateHost, SeparateHosts } from "./origins.ts";
import { empty, type Route } from "./route.ts";
import type { Service } from "./service.ts";

/** CONTENT_URL may change, so its redirects are kept as long as public content; one to a sign-in is never kept. */
const REDIRECT_CACHING = {
  content: { "cache-control": "private, max-age=300" },
  auth: { "cache-control": "no-store" },
} as const satisfies Record<SeparateHost, Record<string, string>>;

/**
 * Returns the routes of a service at a host: its own; redirects at the common host if the service has a separate one;
 * undefined at any other separate host.
 */
export function routesByHost(
  { host: own }: Pick<Service, "host">,
  routes: readonly Route[],
  hosts: SeparateHosts,
): (host: SeparateHost | undefined) => readonly Route[] | undefined {
  const separate = own === undefined || own === "any" ? undefined : hosts.get(own);
  const atService = separate === undefined ? routes : redirects(routes, separate.origin, own as SeparateHost);
  return (host) => (host === undefined ? atService : own === "any" || own === host ? routes : undefined);
}

/** Redirects with 308, so that a browser sends a form again as it was. */
const redirects = (routes: readonly Route[], origin: string, host: SeparateHost): readonly Route[] =>
  routes.map((route) => ({
    ...route,
    params: undefined,
    query: undefined,
    body: { kind: "none" },
    async handle({ request }) {
      const { pathname, search } = new URL(request.url);
      return empty(308, { location: `${origin}${pathname}${search}`, ...REDIRECT_CACHING[host] });
    },
  }));
