type Values = Readonly<Record<string, string>>;

/** 303 after a form, so no browser sends the form on to the new address. */
export const redirectStatus = ({ request }: { readonly request: Request }): 302 | 303 =>
  request.method === "POST" ? 303 : 302;

/** The address carries codes and tokens, so it is neither cached nor sent as a referrer. */
export const redirect = (status: 302 | 303, location: string): Response =>
  new Response(null, {
    status,
    headers: { location, "cache-control": "no-store", pragma: "no-cache", "referrer-policy": "no-referrer" },
  });

/**
 * Adds parameters to the query, the fragment or both. Leaves the rest of the address unchanged. `uri` has no fragment.
 * No value can leave its parameter or the header.
 */
export function withParameters(
  uri: string,
  { query, fragment }: { readonly query?: Values; readonly fragment?: Values },
) {
  const joint = !uri.includes("?") ? "?" : /[?&]$/.test(uri) ? "" : "&";
  const base = isAscii(uri) ? uri : new URL(uri).href;
  return `${base}${query === undefined ? "" : joint + encode(query)}${fragment === undefined ? "" : `#${encode(fragment)}`}`;
}

/** A header value may hold only these characters. */
const isAscii = (text: string): boolean => /^[\x21-\x7e]*$/.test(text);

/** Encodes a space as `%20`, which every reader of a query or a fragment understands. */
const encode = (values: Values): string =>
  Object.entries(values)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");

/**
 * Checks that the address equals a registered one, character by character (RFC 9700 4.1.3). Nothing is normalized, so
 * differences between URL parsers do not matter.
 *
 * An application on the user's machine uses any free port (RFC 8252 7.3). So the port may differ from a registered
 * plain http address on a loopback host.
 */
export const isRegisteredRedirectUri = (requested: string, registered: readonly string[]): boolean =>
  registered.some((known) => known === requested || isSameButPort(requested, known));

/** The redirect URI of a request without one: the registered one if there is exactly one (RFC 6749 3.1.2.3). */
export const onlyRedirectUri = (registered: readonly string[]): string | undefined =>
  registered.length === 1 ? registered[0] : undefined;

/** A native application with its own URI scheme is opened by a redirect. It cannot receive a form. */
export const takesForms = (redirectUri: string): boolean => /^https?:/i.test(redirectUri);

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9][0-9]{0,4}))?([/?].*)?$/;
const MAX_PORT = 65_535;

function isSameButPort(requested: string, known: string): boolean {
  if (requested.length > known.length + `:${MAX_PORT}`.length) return false;
  const [actual, expected] = [LOOPBACK.exec(requested), LOOPBACK.exec(known)];
  if (actual === null || expected === null || Number(actual[2] ?? 0) > MAX_PORT) return false;
  return actual[1] === expected[1] && actual[3] === expected[3];
}
