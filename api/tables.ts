import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "smol-toml";
import type { Env } from "../src/env.ts";
import type { Service } from "../src/http/service.ts";
import type { Route } from "../src/http/route.ts";
import type { BuiltIn } from "../src/platform/model/built-in.ts";
import { createBuiltIn } from "../src/platform/model/built-in.ts";
import { createNames, type Names } from "../src/platform/model/names.ts";

/** Reads the route tables outside the Worker. Routes are data; no handler runs. */
export interface Tables {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly routes: readonly MountedRoute[];
}

export interface MountedRoute {
  readonly base: string;
  readonly atRoot: boolean;
  readonly route: Route;
  /** The form in which the service refuses. */
  readonly errors: "platform" | "protocol" | "page";
}

export async function readTables(root: string): Promise<Tables> {
  // Node takes the package's CommonJS file, whose exports it cannot see; bundlers take the other one.
  const gifenc = pathToFileURL(resolve(root, "node_modules/gifenc/dist/gifenc.esm.js")).href;
  registerHooks({ resolve: (name, context, next) => next(name === "gifenc" ? gifenc : name, context) });
  asInWorkers();
  const { createDeps } = await import("../src/deps.ts");
  const { servicesOf } = await import("../src/app.ts");
  const { vars } = parse(readFileSync(resolve(root, "wrangler.toml"), "utf8")) as {
    vars: Record<string, string>;
  };
  const secrets = { OPERATOR_CLIENT_SECRET: "x".repeat(32), SEAL_KEYS: `k1:${Buffer.alloc(32).toString("base64")}` };
  // Building the tables uses no binding, so empty ones are enough.
  const bindings = Object.fromEntries(BINDINGS.map((name) => [name, {}]));
  const mail = { ALLOW_LOOPBACK: "true", MAIL_FROM: "no-reply@platform.example" };
  const deps = createDeps({ ...bindings, ...vars, ...mail, ...secrets } as unknown as Env);
  const names = createNames(vars["PLATFORM"] ?? "");
  const routes = servicesOf(deps).flatMap((service) => service.routes.map((route) => mounted(service, route)));
  return { names, builtIn: createBuiltIn(names), routes };
}

/** Functions that the Worker's modules use while they load, and that Node 24 lacks. */
function asInWorkers(): void {
  // oxlint-disable-next-line no-extend-native -- in the process of a script, which ends with its document
  Object.defineProperty(Uint8Array.prototype, "toBase64", {
    configurable: true,
    value(this: Uint8Array): string {
      return Buffer.from(this).toString("base64url");
    },
  });
}

const BINDINGS: readonly (keyof Env)[] = [
  "DB",
  "MAIL",
  "MEDIA",
  "MEDIA_JOBS",
  "MEDIA_DEAD_JOBS",
  "IMAGES",
  "TOPIC_LOG",
  "TOPIC_CONSUMER",
  "PUSH_SUBSCRIPTION",
  "LOGIN_ATTEMPTS",
  "GUESS_COUNTER",
  "METRICS_COLLECTOR",
  "METRICS_STORE",
  "ADDRESS_LIMIT",
  "CLIENT_LIMIT",
  "KEPT_LIMIT",
  "CONTENT_LIMIT",
  "CALLER_LIMIT_SMALL",
  "CALLER_LIMIT",
  "CALLER_LIMIT_LARGE",
  "TENANT_LIMIT_SMALL",
  "TENANT_LIMIT",
  "TENANT_LIMIT_LARGE",
];

function mounted(service: Service, route: Route): MountedRoute {
  const errors = service.renderProblem === undefined ? "platform" : service.crossOrigin ? "protocol" : "page";
  return {
    base: service.base,
    atRoot: service.atRoot === true,
    route,
    errors,
  };
}
