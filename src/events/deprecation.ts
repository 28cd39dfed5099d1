/** Start of the deprecation of `/events` in favour of `/pubsub`: 2025-01-01, in seconds. */
const DEPRECATED_SINCE_SEC = 1_735_689_600;

/** Longer addresses are not repeated in a header: many clients refuse an answer with over 16 KiB of headers. */
const LONGEST_REPEATED = 2048;

/**
 * Marks every response of `/events` as deprecated (RFC 9745) and links the same operation under `/pubsub`, or only
 * `/pubsub` if the address is long. A 204 gets no such link, since a `Link` there means that the topic may hold more
 * events.
 */
export const decorateDeprecated =
  (pathPrefix: string) =>
  (headers: Headers, url: URL, status: number): void => {
    headers.set("deprecation", `@${DEPRECATED_SINCE_SEC}`);
    const base = `${pathPrefix}/events/v1`;
    // A path with percent-encoded characters in the base reaches the service too; it gets no link.
    if (status === 204 || !url.pathname.startsWith(base)) return;
    const successor = new URL(`${pathPrefix}/pubsub/v1`, url);
    if (url.href.length <= LONGEST_REPEATED) {
      successor.pathname += url.pathname.slice(base.length);
      successor.search = url.search;
    }
    headers.append("link", `<${successor.href}>; rel="successor-version"`);
  };
