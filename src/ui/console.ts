import { notFound } from "../http/errors/errors.ts";
import { defineRoute, json, type Answer, type Call, type Route } from "../http/route.ts";
import { CACHING, readAsset, type Assets } from "./assets.ts";
import { PAGE_HEADERS } from "./parts/page-headers.ts";

/**
 * The console is an application in the Worker's static assets. `npm start` and `npm run deploy` build it.
 *
 *   /console/config.json   the platform's name, and the issuer and client for the sign-in
 *   /console/assets/…      files with a digest in their name: browsers keep them for ever
 *   another file           browsers keep it and ask each time whether it changed
 *   any other address      the only page; its script shows the content for the address
 */
export interface ConsoleDeps {
  readonly assets: Assets;
  readonly pathPrefix: string;
  readonly platform: string;
  /** Other origins that the console may call: the platform's separate hosts, and the bucket for uploads. */
  readonly origins: readonly string[];
}

/** The console's client, which belongs to the tenant of the platform's own operators. */
const CONSOLE_CLIENT = "console";

export const createConsoleRoutes = (deps: ConsoleDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/console",
    summary: "Open the console, for people",
    operation: "readConsole",
    produces: "any",
    handle: (call) => answerPath(deps, call, "/console"),
  }),
  defineRoute({
    method: "GET",
    path: "/console/*",
    summary: "Open a page of the console, or a file of it",
    operation: "readConsole",
    produces: "any",
    handle: (call) => answerPath(deps, call, call.url.pathname.slice(deps.pathPrefix.length)),
  }),
];

type Asked = Pick<Call<unknown, unknown, unknown, unknown>, "request" | "publicBase">;

async function answerPath(deps: ConsoleDeps, { request, publicBase }: Asked, path: string): Promise<Answer> {
  if (path === "/console/config.json") return json(200, configOf(deps, publicBase), { "cache-control": "no-store" });
  const isFile = path.slice(path.lastIndexOf("/") + 1).includes(".") && /^\/console\/(assets\/)?[\w.-]+$/.test(path);
  const asset = await readAsset(deps.assets, request, isFile ? path : "/console/index.html");
  return asset.status === 404 ? notFound("page") : finished(asset, isFile ? path : undefined, deps);
}

const configOf = ({ platform }: ConsoleDeps, publicBase: string) => ({
  platform,
  issuer: `${publicBase}/oauth2/v1`,
  clientId: CONSOLE_CLIENT,
});

function finished(asset: Response, path: string | undefined, deps: ConsoleDeps): Response {
  const response = new Response(asset.body, asset);
  const { status, headers } = response;
  const isForEver = status === 200 && path?.startsWith("/console/assets/") === true;
  headers.set("cache-control", isForEver ? CACHING.forEver : CACHING.askAgain);
  if (status === 304) headers.delete("content-type");
  if (path !== undefined) return response;
  for (const [name, value] of Object.entries(PAGE_HEADERS)) headers.set(name, value);
  headers.set("content-security-policy", policyOf(deps));
  return response;
}

const policyOf = ({ origins }: ConsoleDeps): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${["'self'", "data:", "blob:", ...origins].join(" ")}`,
    "font-src 'self'",
    `connect-src ${["'self'", ...origins].join(" ")}`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
