import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import plugin from "@scalar/fastify-api-reference";
import { ROOT } from "../lib/root.ts";

/** The part of a server that the plugin uses. */
interface Route {
  readonly url: string;
  readonly handler: (request: unknown, reply: Reply) => unknown;
}
interface Reply {
  header(name: string, value: string): Reply;
  send(body: string): Reply;
}

/**
 * Writes the reference of operations: Scalar's component and a page that loads it. The script is from the plugin for
 * Fastify, which is one package; the component's own package depends on two hundred others.
 */
export function writeReference(out: string, base: string): void {
  writeFileSync(join(out, "scalar.js"), scalarScript());
  const page = readFileSync(join(ROOT, "site/reference.html"), "utf8");
  mkdirSync(join(out, "api"), { recursive: true });
  writeFileSync(join(out, "api", "index.html"), page.replaceAll("{base}", base));
}

function scalarScript(): string {
  const routes: Route[] = [];
  const server = { route: (route: Route) => void routes.push(route), hasPlugin: () => false, log: { warn() {} } };
  const register = plugin as unknown as (server: unknown, options: object, next: () => void) => void;
  register(server, { routePrefix: "/reference", configuration: { url: "/openapi.json" } }, () => {});
  let found = "";
  const reply: Reply = {
    header: () => reply,
    send(body) {
      found = body;
      return reply;
    },
  };
  routes.find(({ url }) => url.endsWith(".js"))?.handler({}, reply);
  if (found.length < 1_000_000) throw new Error("@scalar/fastify-api-reference brings its script no more");
  return found;
}
