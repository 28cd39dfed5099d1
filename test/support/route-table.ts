import { env } from "cloudflare:workers";
import { createDeps } from "../../src/deps.ts";
import type { Route } from "../../src/http/route.ts";

/** Every route of every service with the base that it is mounted at, taken from the tables that `app.ts` mounts. */
export interface MountedRoute {
  readonly base: string;
  readonly route: Route;
}

const deps = createDeps(env);
const tables: readonly (readonly [base: string, routes: readonly Route[]])[] = [
  ["/admin/v1", deps.adminRoutes],
  ["/pubsub/v1", deps.events.routes],
  ["/events/v1", deps.events.routes],
  ["/media/v2", deps.media.routes],
  ...deps.oauth.services.map((service) => [service.base, service.routes] as const),
];

export const everyRoute: readonly MountedRoute[] = tables.flatMap(([base, routes]) =>
  routes.map((route) => ({ base, route })),
);

/** Routes that answer people: pages and redirects, and nothing to other origins. */
export const pageRoutes: ReadonlySet<Route> = new Set(
  deps.oauth.services.filter(({ crossOrigin }) => !crossOrigin).flatMap(({ routes }) => routes),
);

/** `[GET /media/v2/files/{fileId}, base, route]`, for `it.each`. */
export const named = (routes: readonly MountedRoute[]) =>
  routes.map(({ base, route }) => [`${route.method} ${base}${route.path}`, base, route] as const);
