/** Start of the deprecation of `/events` in favour of `/pubsub`: 2025-01-01, in seconds. */
const DEPRECATED_SINCE_SEC = 1_735_689_600;

/**
 * Marks every response of `/events` as deprecated (RFC 9745) and links the same operation under `/pubsub`. A 204 gets
 * no such link, since a `Link` there means that the topic may hold more events.
 */
export const decorateDeprecated =
  (pathPrefix: string) =>
  (headers: Headers, url: URL, status: number): void => {
    headers.set("deprecation", `@${DEPRECATED_SINCE_SEC}`);
    const base = `${pathPrefix}/events/v1`;
    // A path with percent-encoded characters in the base reaches the service too; it gets no link.
    if (status === 204 || !url.pathname.startsWith(base)) return;
    const successor = new URL(url);
    successor.pathname = `${pathPrefix}/pubsub/v1${url.pathname.slice(base.length)}`;
    headers.append("link", `<${successor.href}>; rel="successor-version"`);
  };
