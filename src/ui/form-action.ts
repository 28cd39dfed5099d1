/**
 * The value of `form-action`: this origin, and where the browser may be sent after the form. Browsers hold redirects
 * that follow a form to this directive as well.
 *
 * `targets` are addresses (a redirect URI as it was registered or asked for, an origin, or a scheme alone). Nothing
 * of their text is taken over: each one is parsed, and only an origin or scheme that cannot end the directive is
 * named. What is no address at all is left out.
 */
export function formAction(targets: readonly string[]): string {
  const sources = targets.map(sourceOf).filter((source) => source !== undefined);
  return [...new Set(["'self'", ...sources])].join(" ");
}

/** Hosts that a host-source can name (CSP 3, 2.3.1). A URL's host may hold other characters, `;` and `*` among them. */
const NAMED_HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const IPV4 = /^[0-9.]+$/;
const LOOPBACK_HOSTS: readonly string[] = ["127.0.0.1", "localhost"];
/** RFC 8252 7.1: a reversed domain name, so it has a dot. `javascript:` and `data:` have none. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:$/;

function sourceOf(address: string): string | undefined {
  const url = URL.parse(address);
  if (url === null) return undefined;
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return PRIVATE_USE_SCHEME.test(url.protocol) ? url.protocol : undefined;
  const { hostname } = url;
  // Of an application on the user's own machine any port is registered (RFC 8252 7.3).
  if (url.protocol === "http:" && LOOPBACK_HOSTS.includes(hostname)) return `http://${hostname}:*`;
  const nameable = NAMED_HOST.test(hostname) && (!IPV4.test(hostname) || hostname === "127.0.0.1");
  // CSP has no way to name `[::1]` or another address literal. The scheme is the narrowest source that covers it.
  return nameable ? url.origin : url.protocol;
}
