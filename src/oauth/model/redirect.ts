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
