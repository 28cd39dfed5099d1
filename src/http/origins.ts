import { empty, type Route } from "./route.ts";

/**
 * Which origin a request came by, and which it is known by outside.
 *
 * Content may have an origin apart from the sign-in cookies' (contract 4.3). The host of `CONTENT_URL`
 * then has content, what every host has, and nothing else. Any other host is the service's, and leads from its content
 * addresses there, so that old links live on. The host decides and not the scheme, which a proxy in front may end: so it
 * has to pass `Host` on.
 */
export interface Origins {
  /** Empty: whatever origin a request came by. */
  readonly publicUrl: string;
  /** Empty, or the same host: content is where the service is. */
  readonly contentUrl: string;
}

/** The address as the outside knows it. Set part by part: a path that starts with two slashes is no host. */
export function publicUrlOf(url: URL, { publicUrl }: Origins): URL {
  if (publicUrl === "") return url;
  const known = new URL(publicUrl);
  known.pathname = url.pathname;
  known.search = url.search;
  return known;
}

/** Undefined where content is not apart. */
export function contentOrigin({ publicUrl, contentUrl }: Origins): URL | undefined {
  const origin = URL.parse(contentUrl);
  return origin === null || origin.host === URL.parse(publicUrl)?.host ? undefined : origin;
}

export function cameBy(origin: URL | undefined, request: Request): boolean {
  const asked = origin && URL.parse(request.url);
  if (!asked) return false;
  // What ended TLS may have kept `:443`, which is a port of its own in an address without TLS.
  asked.protocol = origin.protocol;
  return asked.host === origin.host;
}

/** Kept for as long as public content, since `CONTENT_URL` may change. */
const KEPT = { "cache-control": "private, max-age=300" };

/** The same addresses, leading to this origin. */
export const leadingTo = (origin: URL, routes: readonly Route[]): readonly Route[] =>
  routes.map((route) => ({
    ...route,
    query: undefined,
    async handle({ request }) {
      const { pathname, search } = new URL(request.url);
      return empty(308, { location: `${origin.origin}${pathname}${search}`, ...KEPT });
    },
  }));
