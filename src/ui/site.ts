import { empty, json, defineRoute, type Answer, type Call, type Route } from "../http/route.ts";
import { notFound } from "../http/errors/errors.ts";
import { CACHING, readAsset, type Assets } from "./assets.ts";
import { PAGE_HEADERS } from "./parts/page-headers.ts";

/**
 * The documentation lies in the Worker's static assets; `npm run site` builds it. An address is a page
 * (`/docs/quickstart` is `docs/quickstart/index.html`) or a file with an extension. Assets answer with their ETag, and
 * with 304 if the request names it.
 *
 *   a page, a file     browsers keep it and ask each time whether it changed
 *   /docs/site/…       files with a digest in their name: browsers keep them for ever
 *   local.json         keys of the demo of `npm start`, for the pages of a local platform
 *   any other address  404, with a page for people
 */
export interface SiteDeps {
  readonly assets: Assets;
  readonly pathPrefix: string;
  /** Origins of the platform's separate hosts, which "try it" calls too. */
  readonly hosts: readonly string[];
  /** The keys of the demo as JSON; undefined: `npm start` did not start this platform. */
  readonly demo: string | undefined;
}

/** The routes of pages and files below `/docs` without a route of their own. */
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

/**
 * Shows the keys only under a loopback name. Another site may point its own name at this machine, but not such a name.
 */
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

/** Scripts must be files of this origin. Search needs WebAssembly; the component of the reference writes its styles. */
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
