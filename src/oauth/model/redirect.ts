/** Sending the browser on, by addresses to which parameters are added. */
type Values = Readonly<Record<string, string>>;

/** 303 after a form, so that no browser sends the form on to where it is led. */
export const redirectStatus = ({ request }: { readonly request: Request }): 302 | 303 =>
  request.method === "POST" ? 303 : 302;

/** Nothing of it is kept or told on: it carries codes and tokens. */
export const redirect = (status: 302 | 303, location: string): Response =>
  new Response(null, {
    status,
    headers: { location, "cache-control": "no-store", pragma: "no-cache", "referrer-policy": "no-referrer" },
  });

/**
 * The address, otherwise untouched, with parameters in its query, its fragment or both. `uri` has no fragment. Whatever
 * a value holds, it stays within its parameter and within the header.
 */
export function withParameters(
  uri: string,
  { query, fragment }: { readonly query?: Values; readonly fragment?: Values },
) {
  const joint = !uri.includes("?") ? "?" : /[?&]$/.test(uri) ? "" : "&";
  const base = isAscii(uri) ? uri : new URL(uri).href;
  return `${base}${query === undefined ? "" : joint + encode(query)}${fragment === undefined ? "" : `#${encode(fragment)}`}`;
}

/** A header holds nothing else. */
const isAscii = (text: string): boolean => /^[\x21-\x7e]*$/.test(text);

/** A space as `%20`, which every reader of a query or a fragment understands. */
const encode = (values: Values): string =>
  Object.entries(values)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");

/**
 * Whether the browser may be sent to this address: it is one of those registered, character by character (RFC 9700
 * 4.1.3). Nothing is normalised, so whatever two parsers read differently is simply another text.
 *
 * An application on the user's own machine takes whatever port is free (RFC 8252 7.3): where plain http on a loopback
 * host is registered, the port alone may differ.
 */
export const isRegisteredRedirectUri = (asked: string, registered: readonly string[]): boolean =>
  registered.some((known) => known === asked || isSameButPort(asked, known));

/**
 * The address of a request that names none: the one that is registered, where there is one alone (RFC 6749 3.1.2.3).
 */
export const onlyRedirectUri = (registered: readonly string[]): string | undefined =>
  registered.length === 1 ? registered[0] : undefined;

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9][0-9]{0,4}))?([/?].*)?$/;
const MAX_PORT = 65_535;

function isSameButPort(asked: string, known: string): boolean {
  if (asked.length > known.length + `:${MAX_PORT}`.length) return false;
  const [here, there] = [LOOPBACK.exec(asked), LOOPBACK.exec(known)];
  if (here === null || there === null || Number(here[2] ?? 0) > MAX_PORT) return false;
  return here[1] === there[1] && here[3] === there[3];
}
