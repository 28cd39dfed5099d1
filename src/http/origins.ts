/**
 * The hosts of the platform, and the public origin of a request.
 *
 *   host of CONTENT_URL   content of files, away from the sign-in cookies
 *   host of AUTH_URL      pages for people, and their cookies: sign-in, account
 *   any other             the services, and everything without a separate host
 *
 * A separate host has its own routes, those that every host has, and nothing else. The service's host redirects to it,
 * so that old links work. The host decides and not the scheme, since a proxy in front may end TLS. Such a proxy must
 * pass `Host` on.
 */
export interface Origins {
  /** Empty: the origin that a request came by. */
  readonly publicUrl: string;
  /** Empty or the same host: content is at the service's host. */
  readonly contentUrl: string;
  /** Empty or the same host: pages are at the service's host. */
  readonly authUrl: string;
}

/** The services that may have a separate host. */
export type SeparateHost = "content" | "auth";

export type SeparateHosts = ReadonlyMap<SeparateHost, URL>;

export function separateHosts({ publicUrl, contentUrl, authUrl }: Origins): SeparateHosts {
  const service = URL.parse(publicUrl)?.host;
  const hosts = new Map<SeparateHost, URL>();
  for (const [kind, address] of [
    ["content", contentUrl],
    ["auth", authUrl],
  ] as const) {
    const origin = URL.parse(address);
    if (origin !== null && origin.host !== service) hosts.set(kind, origin);
  }
  return hosts;
}

/** The separate host that a request came by; undefined: the service's host. */
export function hostOf(request: Pick<Request, "url">, hosts: SeparateHosts): SeparateHost | undefined {
  const asked = hosts.size === 0 ? null : URL.parse(request.url);
  if (asked === null) return undefined;
  for (const [kind, origin] of hosts) {
    // A proxy that ended TLS may keep `:443`, which is not the default port without TLS.
    asked.protocol = origin.protocol;
    if (asked.host === origin.host || (kind === "auth" && isAtSomePort(asked, origin))) return kind;
  }
  return undefined;
}

/** Cookies ignore ports, and Cloudflare serves a host at several: no port of the host may have another service. */
const isAtSomePort = (asked: URL, origin: URL): boolean => origin.port === "" && asked.hostname === origin.hostname;

/** The public address. Set part by part: `new URL` would take a path that starts with two slashes for a host. */
export function publicUrlOf(url: URL, { publicUrl, authUrl }: Origins, host: SeparateHost | undefined): URL {
  const origin = host === "auth" ? authUrl : publicUrl;
  if (origin === "") return url;
  const known = new URL(origin);
  known.pathname = url.pathname;
  known.search = url.search;
  return known;
}
