import { env } from "cloudflare:workers";
import { servicesOf } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import type { Route } from "../../src/http/route.ts";

/** Every route of every service with the base that it is mounted at, taken from the tables that `app.ts` mounts. */
export interface MountedRoute {
  readonly base: string;
  readonly route: Route;
}

const services = servicesOf(createDeps(env));
const mounted = (wanted: (base: string) => boolean): readonly MountedRoute[] =>
  services.filter(({ base }) => wanted(base)).flatMap(({ base, routes }) => routes.map((route) => ({ base, route })));

export const everyRoute: readonly MountedRoute[] = mounted((base) => base !== "");

/** What belongs to no service: `/health`, `/docs` and the like. */
export const platformRoutes: readonly MountedRoute[] = mounted((base) => base === "");

/** Routes that answer nothing to scripts of other origins. */
export const closedRoutes: ReadonlySet<Route> = new Set(
  services.filter(({ crossOrigin }) => !crossOrigin).flatMap(({ routes }) => routes),
);

/** Routes of a service that answer people: pages and redirects, and nothing to other origins. */
export const pageRoutes: ReadonlySet<Route> = new Set(
  everyRoute.map(({ route }) => route).filter((route) => closedRoutes.has(route)),
);

/** A value that every path parameter takes. */
export const fill = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === "email"
      ? "a@b.example"
      : name === "fileId"
        ? "0123456789abcdef01234567"
        : name === "topicOwnerClient"
          ? "acme.shop"
          : "sample",
  );

/** `[GET /media/v2/files/{fileId}, base, route]`, for `it.each`. */
export const named = (routes: readonly MountedRoute[]) =>
  routes.map(({ base, route }) => [`${route.method} ${base}${route.path}`, base, route] as const);
