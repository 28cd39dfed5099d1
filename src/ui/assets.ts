/** The Worker's static assets: console and documentation. */
export type Assets = Pick<Fetcher, "fetch">;

/** Reads a static asset with the request's method and ETag. Assets are found by path, so the host does not matter. */
export function readAsset(assets: Assets, { method, headers }: Request, path: string): Promise<Response> {
  const known = headers.get("if-none-match");
  return assets.fetch(`https://assets.invalid${path}`, {
    method,
    headers: known === null ? {} : { "if-none-match": known },
    redirect: "manual",
  });
}

/** `Cache-Control` for a file whose name has a digest of its content, and for a file that changes under its name. */
export const CACHING = {
  forEver: "public, max-age=31536000, immutable",
  askAgain: "public, max-age=0, must-revalidate, no-transform",
} as const;
