import type { Deps } from "./deps.ts";
import { decorateDeprecated } from "./events/deprecation.ts";
import { mountServices, type App } from "./http/mount.ts";
import type { Service } from "./http/service.ts";
import { createConsoleRoutes } from "./ui/console.ts";
import { createInterfaceDocument } from "./ui/interface-document.ts";
import { createMailboxRoutes } from "./ui/pages/mailbox-page.ts";
import { createDocumentRoutes, createLandingRoutes, createPlatformRoutes, createRootRoutes } from "./ui/routes.ts";
import { createSiteRoutes } from "./ui/site.ts";

export const createApp = (deps: Deps): App => mountServices(servicesOf(deps), deps.http, deps.gateway.answer);

/** Every table of routes and its base. The interface document is made from the same list. */
export function servicesOf(deps: Deps): readonly Service[] {
  const { names, pathPrefix } = deps.http;
  const documentOf = createInterfaceDocument(names, pathPrefix);
  return [
    { name: "platform", base: "", routes: createPlatformRoutes(pathPrefix), crossOrigin: false, host: "any" },
    { name: "platform", base: "", routes: createLandingRoutes(pathPrefix), crossOrigin: false },
    { name: "platform", base: "", atRoot: true, routes: createRootRoutes(pathPrefix), crossOrigin: false },
    { name: "platform", base: "", routes: createSiteRoutes(deps.site), crossOrigin: false },
    { name: "platform", base: "", routes: createConsoleRoutes(deps.console), crossOrigin: false },
    { name: "platform", base: "", routes: createDocumentRoutes(documentOf), crossOrigin: true },
    ...(deps.mailbox === undefined
      ? []
      : [
          {
            name: "platform" as const,
            base: "",
            routes: createMailboxRoutes(deps.mailbox, pathPrefix),
            crossOrigin: false,
          },
        ]),
    ...deps.oauth.services,
    { name: "platform", base: "/health", routes: deps.healthRoutes, crossOrigin: true },
    {
      name: "admin",
      base: "/admin/v1",
      routes: [...deps.adminRoutes, ...deps.metrics.routes, ...deps.backups.routes, ...deps.restore.routes],
      crossOrigin: true,
    },
    { name: "events", base: "/pubsub/v1", routes: deps.events.routes, crossOrigin: true },
    {
      name: "events",
      base: "/events/v1",
      routes: deps.events.routes,
      crossOrigin: true,
      decorate: decorateDeprecated(pathPrefix),
    },
    { name: "media", base: "/media/v2", routes: deps.media.routes, crossOrigin: true, anonymousUse: "content" },
    {
      name: "media",
      base: "/media/v2",
      routes: deps.media.contentRoutes,
      crossOrigin: true,
      host: "content",
      anonymousUse: "content",
    },
  ];
}
