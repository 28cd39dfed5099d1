import { env } from "cloudflare:workers";
import { servicesOf } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import type { Route } from "../../src/http/route.ts";

/** Every route of every service with the base at which it is mounted, from the tables that `app.ts` mounts. */
export interface MountedRoute {
  readonly base: string;
  readonly route: Route;
}

const services = servicesOf(createDeps(env));
const mounted = (wanted: (base: string) => boolean): readonly MountedRoute[] =>
  services.filter(({ base }) => wanted(base)).flatMap(({ base, routes }) => routes.map((route) => ({ base, route })));

export const everyRoute: readonly MountedRoute[] = mounted((base) => base !== "");

/** The routes that belong to no service, such as `/health` and `/docs`. */
export const platformRoutes: readonly MountedRoute[] = mounted((base) => base === "");

/** The routes that do not answer scripts of other origins. */
export const closedRoutes: ReadonlySet<Route> = new Set(
  services.filter(({ crossOrigin }) => !crossOrigin).flatMap(({ routes }) => routes),
);

/** The routes of services for people: pages and redirects. They do not answer other origins. */
export const pageRoutes: ReadonlySet<Route> = new Set(
  everyRoute.map(({ route }) => route).filter((route) => closedRoutes.has(route)),
);

/** Fills the parameters of a path with a value that each of them accepts. */
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

/** Returns rows `[GET /media/v2/files/{fileId}, base, route]` for `it.each`. */
export const named = (routes: readonly MountedRoute[]) =>
  routes.map(({ base, route }) => [`${route.method} ${base}${route.path}`, base, route] as const);
