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
import { load } from "./load.ts";

/** A search parameter that is a word, or absent. */
const word = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;

/** Some search parameters, each a word or absent. */
const words =
  <const N extends string>(...names: readonly N[]) =>
  (search: Record<string, unknown>): { [K in N]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => (word(search[name]) === undefined ? [] : [[name, word(search[name])]])),
    ) as { [K in N]?: string };

/**
 * Every address of the console. A page is loaded when it is visited; to add one, add a route here and, if people should
 * find it, a place in `navigation.ts`.
 */
const root = createRootRoute({ component: Outlet, notFoundComponent: NothingHere, errorComponent: Broken });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: words("returnTo", "error", "detail"),
  component: lazyRouteComponent(() => load(() => import("../pages/sign-in/sign-in-page.tsx")), "SignInPage"),
});

const callback = createRoute({
  getParentRoute: () => root,
  path: "/callback",
  beforeLoad: async () => {
    const sent = new URLSearchParams(location.search);
    if (await handBack(sent)) return;
    try {
      throw redirect({ href: safeReturn(await land(sent)), replace: true });
    } catch (thrown) {
      if (!(thrown instanceof SignInError)) throw thrown;
      const { code, message, returnTo } = thrown;
      const search = SILENT_REFUSALS.has(code) ? { returnTo } : { returnTo, error: code, detail: message };
      throw redirect({ to: "/sign-in", search, replace: true });
    }
  },
  component: lazyRouteComponent(() => load(() => import("../pages/sign-in/callback-page.tsx")), "CallbackPage"),
});

/** Answers that only mean that a silent sign-in was not possible. They are not failures. */
const SILENT_REFUSALS = new Set([
  "login_required",
  "interaction_required",
  "consent_required",
  "account_selection_required",
]);

/** Makes sure that a stored or given path is one of the console. */
const safeReturn = (path: string): string => (/^\/(?![/\\])/.test(path) ? path : "/");

/** All pages that need a session. Without one, the console first asks the platform for a silent sign-in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ location: { href } }) => {
    if (sessionNow().state !== "signedOut") return;
    await signInSilently(href);
    // The browser is leaving.
    await new Promise(() => undefined);
  },
  component: lazyRouteComponent(() => load(() => import("./shell.tsx")), "Shell"),
  notFoundComponent: NothingHere,
  errorComponent: Broken,
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/",
  validateSearch: words("span", "tenant"),
  // Only operators of the platform may see the numbers of the whole platform.
  beforeLoad: () => {
    const session = sessionNow();
    if (session.state !== "signedOut" && session.person.rights.tenantsOnly)
      throw redirect({ to: "/tenants", replace: true });
  },
  component: lazyRouteComponent(() => load(() => import("../pages/overview/overview-page.tsx")), "OverviewPage"),
});

const page = <const P extends string>(path: P, importPage: () => Promise<{ Page: () => React.ReactNode }>) =>
  createRoute({ getParentRoute: () => inside, path, component: lazyRouteComponent(() => load(importPage), "Page") });

/** A list whose search is in the address. */
const searched = <const P extends string>(path: P, importPage: () => Promise<{ Page: () => React.ReactNode }>) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    validateSearch: words("q"),
    component: lazyRouteComponent(() => load(importPage), "Page"),
  });

const audit = createRoute({
  getParentRoute: () => inside,
  path: "/audit",
  validateSearch: words("subject", "actor", "requestId", "outcome"),
  component: lazyRouteComponent(() => load(() => import("../pages/audit/audit-page.tsx")), "Page"),
});

const explain = createRoute({
  getParentRoute: () => inside,
  path: "/explain",
  validateSearch: words("client", "user", "tenant", "scope"),
  component: lazyRouteComponent(() => load(() => import("../pages/explain/explain-page.tsx")), "Page"),
});

const topics = createRoute({
  getParentRoute: () => inside,
  path: "/topics",
  validateSearch: words("q", "tenant"),
  component: lazyRouteComponent(() => load(() => import("../pages/topics/topics-page.tsx")), "Page"),
});

const topic = createRoute({
  getParentRoute: () => inside,
  path: "/topics/$owner/$eventType",
  validateSearch: words("contains"),
  component: lazyRouteComponent(() => load(() => import("../pages/topics/topic-page.tsx")), "Page"),
});

const push = createRoute({
  getParentRoute: () => inside,
  path: "/topics/$owner/$eventType/push/$id",
  validateSearch: words("state"),
  component: lazyRouteComponent(() => load(() => import("../pages/topics/push-page.tsx")), "Page"),
});

const media = createRoute({
  getParentRoute: () => inside,
  path: "/media",
  validateSearch: words("tenant", "client", "visibility", "q", "sort"),
  component: lazyRouteComponent(() => load(() => import("../pages/media/files/media-page.tsx")), "Page"),
});

/** A page about the files of one client. */
const ofOwner = <const P extends string>(path: P, importPage: () => Promise<{ Page: () => React.ReactNode }>) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    validateSearch: words("tenant", "client", "visibility"),
    component: lazyRouteComponent(() => load(importPage), "Page"),
  });

const routes = inside.addChildren([
  overview,
  audit,
  explain,
  topics,
  topic,
  push,
  media,
  ofOwner("/media/erasures", () => import("../pages/media/erasures/erasures-page.tsx")),
  ofOwner("/media/work", () => import("../pages/media/jobs/work-page.tsx")),
  page("/media/files/$id", () => import("../pages/media/file/file-page.tsx")),
  page("/media/erasures/$id", () => import("../pages/media/erasures/erasure-page.tsx")),
  page("/media/comparisons/$id", () => import("../pages/media/jobs/comparison-page.tsx")),
  searched("/tenants", () => import("../pages/tenants/tenants-page.tsx")),
  page("/tenants/new", () => import("../pages/tenants/tenant-form.tsx")),
  page("/tenants/$id", () => import("../pages/tenants/tenant-page.tsx")),
  page("/organizations", () => import("../pages/organizations/organizations-page.tsx")),
  page("/organizations/new", () => import("../pages/organizations/organization-form.tsx")),
  page("/organizations/$id", () => import("../pages/organizations/organization-page.tsx")),
  searched("/people", () => import("../pages/people/people-page.tsx")),
  page("/people/new", () => import("../pages/people/person-form.tsx")),
  page("/people/$email", () => import("../pages/people/person-page.tsx")),
  searched("/applications", () => import("../pages/applications/applications-page.tsx")),
  page("/applications/new", () => import("../pages/applications/new-application-page.tsx")),
  page("/applications/$clientId", () => import("../pages/applications/application-page.tsx")),
  searched("/roles", () => import("../pages/roles/roles-page.tsx")),
  page("/roles/new", () => import("../pages/roles/new-role-page.tsx")),
  page("/roles/$name", () => import("../pages/roles/role-page.tsx")),
  page("/services", () => import("../pages/services/services-page.tsx")),
  page("/providers", () => import("../pages/providers/providers-page.tsx")),
  page("/keys", () => import("../pages/keys/keys-page.tsx")),
]);

export const router = createRouter({
  routeTree: root.addChildren([signIn, callback, routes]),
  basepath: CONSOLE_PATH,
  defaultPreload: "intent",
  scrollRestoration: true,
  // Another record is another page: no secret, open dialog or draft of one record shows on the next one.
  defaultRemountDeps: ({ params }) => params,
  defaultErrorComponent: Broken,
  defaultNotFoundComponent: NothingHere,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
