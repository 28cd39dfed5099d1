import { Hono } from "hono";
import type { Deps } from "./deps.ts";
import { decorateDeprecated } from "./events/deprecation.ts";
import { mountServices } from "./http/mount.ts";
import { platformRoutes } from "./ui/routes.ts";

/** What is mounted where (contract 1.1). */
export function createApp(deps: Deps): Hono {
  const app = new Hono();
  mountServices(
    app,
    [
      { base: "", routes: platformRoutes, crossOrigin: false },
      ...deps.oauth.services,
      { base: "/admin/v1", routes: deps.adminRoutes, crossOrigin: true },
      { base: "/pubsub/v1", routes: deps.events.routes, crossOrigin: true },
      {
        base: "/events/v1",
        routes: deps.events.routes,
        crossOrigin: true,
        decorate: decorateDeprecated(deps.http.pathPrefix),
      },
      { base: "/media/v2", routes: deps.media.routes, crossOrigin: true },
    ],
    deps.http,
  );
  return app;
}
