/** The Worker's static assets: console and documentation. */
export type Assets = Pick<Fetcher, "fetch">;

/** A file of them, as the request asks for it. The host of an address plays no part: assets are found by path. */
export function readAsset(assets: Assets, { method, headers }: Request, path: string): Promise<Response> {
  const known = headers.get("if-none-match");
  return assets.fetch(`https://assets.invalid${path}`, {
    method,
    headers: known === null ? {} : { "if-none-match": known },
    redirect: "manual",
  });
}

/** `Cache-Control` of a file whose name has a digest of its content, and of one that changes under its name. */
export const CACHING = {
  forEver: "public, max-age=31536000, immutable",
  askAgain: "public, max-age=0, must-revalidate, no-transform",
} as const;

export const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
  "cross-origin-opener-policy": "same-origin",
} as const;
