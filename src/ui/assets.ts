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
