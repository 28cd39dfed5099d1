import { empty, json, defineRoute, type Answer, type Call, type Route } from "../http/route.ts";
import { notFound } from "../http/errors/errors.ts";
import { CACHING, PAGE_HEADERS, readAsset, type Assets } from "./assets.ts";

/**
 * The documentation, from the Worker's static assets: `npm run site` builds it. An address is a page
 * (`/docs/quickstart` is `docs/quickstart/index.html`) or a file with an ending. Assets answer with
 * their ETag, and with 304 to it.
 *
 *   a page, a file     kept by browsers and asked for again each time
 *   /docs/site/…       its name is a digest of its content: kept for ever
 *   local.json         keys of the demo of `npm start`, for the platform's own pages on this machine
 *   anything else      404, with a page for people
 */
export interface SiteDeps {
  readonly assets: Assets;
  readonly pathPrefix: string;
  /** Origins of the platform's separate hosts, which "try it" calls too. */
  readonly hosts: readonly string[];
  /** JSON; undefined: this is no platform of `npm start`. */
  readonly demo: string | undefined;
}

/** Pages and files below `/docs` that have no route of their own. */
export const createSiteRoutes = (deps: SiteDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/docs",
    summary: "Read the documentation, for people",
    operation: "readDocuments",
    produces: "any",
    handle: (call) => answerPath(deps, call, "/docs"),
  }),
  defineRoute({
    method: "GET",
    path: "/docs/*",
    summary: "Read a page of the documentation, or a file of one",
    operation: "readDocuments",
    produces: "any",
    handle: (call) => answerPath(deps, call, call.url.pathname.slice(deps.pathPrefix.length)),
  }),
  defineRoute({
    method: "GET",
    path: "/llms.txt",
    summary: "Find the pages of the documentation as Markdown, for programs",
    operation: "readDocuments",
    produces: "any",
    handle: (call) => answerPath(deps, call, "/llms.txt"),
  }),
];

type Asked = Pick<Call<unknown, unknown, unknown, unknown>, "request" | "url">;

async function answerPath(deps: SiteDeps, { request, url }: Asked, path: string): Promise<Answer> {
  if (path.endsWith("/")) return empty(308, { location: `${url.origin}${deps.pathPrefix}${path.replace(/\/+$/, "")}` });
  if (path === "/docs/local.json") return demoKeys(deps, request);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const asset = await readAsset(deps.assets, request, name.includes(".") ? path : `${path}/index.html`);
  if (asset.status !== 404) return finished(asset, path, deps);
  const page = await readAsset(deps.assets, new Request(request.url), "/docs/404.html");
  return page.status === 200
    ? finished(new Response(page.body, { status: 404, headers: page.headers }), path, deps)
    : notFound("page");
}

/** Keys are told to this machine alone: another site can make its name lead here, but not that name a loopback's. */
function demoKeys({ demo }: SiteDeps, request: Request): Answer {
  if (demo === undefined || !LOOPBACK.has(new URL(request.url).hostname)) return notFound("page");
  return json(200, JSON.parse(demo), { "cache-control": "no-store" });
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

function finished(asset: Response, path: string, { hosts }: SiteDeps): Response {
  const response = new Response(asset.body, asset);
  const { status, headers } = response;
  headers.set("cache-control", cachingOf(status, path));
  if (status === 304) headers.delete("content-type");
  else if (path.endsWith(".md")) headers.set("content-type", "text/markdown; charset=utf-8");
  if (headers.get("content-type")?.startsWith("text/html") === true) {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) headers.set(name, value);
    headers.set("content-security-policy", policyOf(path === "/docs/api" ? "reference" : "page", hosts));
  }
  return response;
}

function cachingOf(status: number, path: string): string {
  if (status >= 400) return "no-store, no-transform";
  return path.startsWith("/docs/site/") ? CACHING.forEver : CACHING.askAgain;
}

/** Scripts are files of this origin. Search is WebAssembly; the reference's component writes its own styles. */
function policyOf(kind: "page" | "reference", hosts: readonly string[]): string {
  const isReference = kind === "reference";
  return [
    "default-src 'none'",
    `script-src 'self'${isReference ? "" : " 'wasm-unsafe-eval'"}`,
    `style-src 'self'${isReference ? " 'unsafe-inline'" : ""}`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src ${["'self'", ...(isReference ? hosts : [])].join(" ")}`,
    "worker-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
}
