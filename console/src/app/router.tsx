import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { CONSOLE_PATH } from "../session/config.ts";
import { handBack, land, sessionNow, signInSilently } from "../session/session.ts";
import { SignInError } from "../session/oidc.ts";
import { Broken, NothingHere } from "./faults.tsx";

/**
 * Every address of the console. A page is loaded when it is visited; to add one, add a route here and, if people should
 * find it, a place in `navigation.ts`.
 */
const root = createRootRoute({ component: Outlet, notFoundComponent: NothingHere, errorComponent: Broken });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { returnTo?: string; error?: string; detail?: string } => ({
    ...(typeof search["returnTo"] === "string" && { returnTo: search["returnTo"] }),
    ...(typeof search["error"] === "string" && { error: search["error"] }),
    ...(typeof search["detail"] === "string" && { detail: search["detail"] }),
  }),
  component: lazyRouteComponent(() => import("../pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});

const callback = createRoute({
  getParentRoute: () => root,
  path: "/callback",
  beforeLoad: async () => {
    const sent = new URLSearchParams(location.search);
    if (handBack(sent)) return;
    try {
      throw redirect({ href: safeReturn(await land(sent)), replace: true });
    } catch (thrown) {
      if (!(thrown instanceof SignInError)) throw thrown;
      const { code, message, returnTo } = thrown;
      const search = SILENT_REFUSALS.has(code) ? { returnTo } : { returnTo, error: code, detail: message };
      throw redirect({ to: "/sign-in", search, replace: true });
    }
  },
  component: lazyRouteComponent(() => import("../pages/sign-in/callback-page.tsx"), "CallbackPage"),
});

/** The platform has no session that would do without a page: nothing failed. */
const SILENT_REFUSALS = new Set([
  "login_required",
  "interaction_required",
  "consent_required",
  "account_selection_required",
]);

/** A path of the console, whatever an address or a tab's storage says. */
const safeReturn = (path: string): string => (/^\/(?![/\\])/.test(path) ? path : "/");

/** All pages that need a session. Without one, the platform is asked for the one that it may have. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ location: { href } }) => {
    if (sessionNow().state !== "signedOut") return;
    await signInSilently(href);
    // The browser is leaving.
    await new Promise(() => undefined);
  },
  component: lazyRouteComponent(() => import("./shell.tsx"), "Shell"),
  notFoundComponent: NothingHere,
  errorComponent: Broken,
});

/** A search parameter that is a word, or absent. */
const word = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/",
  validateSearch: (search: Record<string, unknown>): { span?: string; tenant?: string } => ({
    ...(word(search["span"]) !== undefined && { span: word(search["span"])! }),
    ...(word(search["tenant"]) !== undefined && { tenant: word(search["tenant"])! }),
  }),
  component: lazyRouteComponent(() => import("../pages/overview/overview-page.tsx"), "OverviewPage"),
});

const page = <const P extends string>(path: P, load: () => Promise<{ Page: () => React.ReactNode }>) =>
  createRoute({ getParentRoute: () => inside, path, component: lazyRouteComponent(load, "Page") });

const routes = inside.addChildren([
  overview,
  page("/tenants", () => import("../pages/tenants/tenants-page.tsx")),
  page("/topics", () => import("../pages/topics/topics-page.tsx")),
  page("/media", () => import("../pages/media/media-page.tsx")),
]);

export const router = createRouter({
  routeTree: root.addChildren([signIn, callback, routes]),
  basepath: CONSOLE_PATH,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: Broken,
  defaultNotFoundComponent: NothingHere,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
