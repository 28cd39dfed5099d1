import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ROOT } from "../../../../scripts/lib/root.ts";

const PAGES = join(ROOT, "test", "acceptance", "browser", "pages");
const LIBRARY = join(ROOT, "node_modules", "oidc-client-ts", "dist", "browser", "oidc-client-ts.min.js");
const APP = { path: join(PAGES, "app.html"), type: "text/html" };
const FILES: Readonly<Record<string, { readonly path: string; readonly type: string }>> = {
  "/oidc-client-ts.js": { path: LIBRARY, type: "text/javascript" },
  "/app.js": { path: join(PAGES, "app.js"), type: "text/javascript" },
  "/implicit.js": { path: join(PAGES, "implicit.js"), type: "text/javascript" },
  "/implicit": { path: join(PAGES, "implicit.html"), type: "text/html" },
  ...Object.fromEntries(["/", "/callback", "/popup", "/silent", "/signed-out"].map((path) => [path, APP])),
};

/** An application in the browser, served from a port of its own. */
export interface RelyingParty {
  /** By the name `localhost`, which to browsers is another site than 127.0.0.1, where the platform is. */
  readonly origin: string;
  /** The same server, on another port of the platform's own host: another origin, the same site. */
  readonly siblingOrigin: string;
  /** What its pages know as `SETTINGS`. */
  settings: object;
  stop(): Promise<void>;
}

export async function startRelyingParty(): Promise<RelyingParty> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = FILES[pathname];
    if (pathname === "/settings.js") {
      response.setHeader("content-type", "text/javascript");
      response.end(`const SETTINGS = ${JSON.stringify(relyingParty.settings)};`);
    } else if (file !== undefined) {
      response.setHeader("content-type", `${file.type}; charset=utf-8`);
      response.end(readFileSync(file.path));
    } else if (pathname === "/leads-on") {
      response.writeHead(302, { location: `${relyingParty.siblingOrigin}/landed` }).end();
    } else {
      // A page with nothing on it, for what a test puts there.
      response.setHeader("content-type", "text/html");
      response.end("<!doctype html><title>Nothing</title>");
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const relyingParty: RelyingParty = {
    origin: `http://localhost:${port}`,
    siblingOrigin: `http://127.0.0.1:${port}`,
    settings: {},
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return relyingParty;
}
