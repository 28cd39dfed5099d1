/** When consuming by `/events` became deprecated in favour of `/pubsub`: 2025-01-01, in seconds. */
const DEPRECATED_SINCE_SEC = 1_735_689_600;

/**
 * Says on every answer of `/events` that the service is deprecated (RFC 9745) and where the same operation lives on.
 * Not on 204: there a `Link` means that the topic may hold more events (specification, "Endpoints").
 */
export function decorateDeprecated(headers: Headers, url: URL, status: number): void {
  headers.set("deprecation", `@${DEPRECATED_SINCE_SEC}`);
  if (status === 204) return;
  const successor = new URL(url);
  const at = successor.pathname.lastIndexOf("/events/v1");
  successor.pathname = `${successor.pathname.slice(0, at)}/pubsub/v1${successor.pathname.slice(at + "/events/v1".length)}`;
  headers.append("link", `<${successor.href}>; rel="successor-version"`);
}
