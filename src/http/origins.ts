import { empty, type Route } from "./route.ts";

/**
 * Which host a request came by, and which origin it is known by outside.
 *
 *   host of CONTENT_URL   content, apart from the sign-in cookies (contract 4.3)
 *   host of AUTH_URL      pages for people, and their cookies: sign-in, account
 *   any other             the services, and what has no host of its own
 *
 * A host that is set apart has its own kind, what every host has, and nothing else. The service's host leads to it, so that
 * old links live on. The host decides and not the scheme, which a proxy in front may end: so it has to pass `Host` on.
 */
export interface Origins {
  /** Empty: whatever origin a request came by. */
  readonly publicUrl: string;
  /** Empty, or the same host: content is where the service is. */
  readonly contentUrl: string;
  /** Empty, or the same host: pages are where the service is. */
  readonly authUrl: string;
}

/** What may have a host of its own. */
export type Apart = "content" | "auth";

/** The hosts that are set apart, by what they have. */
export type HostsApart = ReadonlyMap<Apart, URL>;

export function hostsApart({ publicUrl, contentUrl, authUrl }: Origins): HostsApart {
  const service = URL.parse(publicUrl)?.host;
  const hosts = new Map<Apart, URL>();
  for (const [kind, address] of [
    ["content", contentUrl],
    ["auth", authUrl],
  ] as const) {
    const origin = URL.parse(address);
    if (origin !== null && origin.host !== service) hosts.set(kind, origin);
  }
  return hosts;
}

/** The kind of host that a request came by; undefined: the service's. */
export function hostOf(request: Pick<Request, "url">, hosts: HostsApart): Apart | undefined {
  const asked = hosts.size === 0 ? null : URL.parse(request.url);
  if (asked === null) return undefined;
  for (const [kind, origin] of hosts) {
    // What ended TLS may have kept `:443`, which is a port of its own in an address without TLS.
    asked.protocol = origin.protocol;
    if (asked.host === origin.host || (kind === "auth" && isAtSomePort(asked, origin))) return kind;
  }
  return undefined;
}

/** Cookies know no ports, and Cloudflare serves a host at several: nothing of a service may be at any of them. */
const isAtSomePort = (asked: URL, origin: URL): boolean => origin.port === "" && asked.hostname === origin.hostname;

/** The address as the outside knows it. Set part by part: a path that starts with two slashes is no host. */
export function publicUrlOf(url: URL, { publicUrl, authUrl }: Origins, host: Apart | undefined): URL {
  const origin = host === "auth" ? authUrl : publicUrl;
  if (origin === "") return url;
  const known = new URL(origin);
  known.pathname = url.pathname;
  known.search = url.search;
  return known;
}

/** Content's is kept for as long as public content, since `CONTENT_URL` may change; what leads to a sign-in is nobody's to keep. */
const KEPT = {
  content: { "cache-control": "private, max-age=300" },
  auth: { "cache-control": "no-store" },
} as const satisfies Record<Apart, Record<string, string>>;

/** The same addresses, leading to the host that is set apart for them, if any; a form goes there again as it was sent. */
export function leadingTo(hosts: HostsApart, kind: Apart, routes: readonly Route[]): readonly Route[] {
  const origin = hosts.get(kind)?.origin;
  if (origin === undefined) return routes;
  return routes.map((route) => ({
    ...route,
    params: undefined,
    query: undefined,
    body: { kind: "none" },
    async handle({ request }) {
      const { pathname, search } = new URL(request.url);
      return empty(308, { location: `${origin}${pathname}${search}`, ...KEPT[kind] });
    },
  }));
}
