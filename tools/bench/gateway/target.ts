import type { ServerModule } from "../lib/server-module.ts";
import { ask, basic } from "../lib/exchange.ts";
import { signInAsOperator } from "../lib/operator.ts";
import type { Server } from "../lib/server.ts";

/** As `npm start` serves it, whatever the environment says. */
export const PLINTH: ServerModule = {
  id: "plinth",
  module: "tools/bench/gateway/plinth-server.ts",
  env: { LOG_LEVEL: "warn", ALLOW_LOOPBACK: "true" },
};
export const BARE: ServerModule = { id: "bare", module: "tools/bench/gateway/bare/server.ts" };

/** Where the service is reached. */
export interface Target {
  readonly server: Server;
  /** Path below which the service answers, and the address that its answers have to name. */
  readonly path: string;
  readonly base: string;
  /** The service's own address. */
  readonly source: string;
  /** The same for callers who need not say who they are. */
  readonly openPath: string;
  readonly openBase: string;
  /** Headers of a request by somebody with a token; they go out of date. */
  authorize(): Promise<Record<string, string>>;
  /** … and by somebody without one. */
  readonly anyone: Record<string, string>;
}

/** Of the same service, for callers without a token. */
const OPEN_PATH = "/open/v1";
const CLIENT = "bench.caller";
const opened = new WeakMap<Server, Promise<Target>>();

/** The platform with its service and a client, which are made at the first call. */
export function openPlinth(server: Server): Promise<Target> {
  const target = opened.get(server) ?? open(server);
  opened.set(server, target);
  return target;
}

async function open(server: Server): Promise<Target> {
  const { base, put } = await signInAsOperator(server);
  const prefix: string = server.facts.pathPrefix;
  await put("organizations/bench", { name: "Bench" });
  await put("tenants/bench", { organization: "bench", name: "Bench" });
  const source: string = await server.ask({});
  const registered = { sourceUrl: source, proxyPath: "/service/v1", scopes: [], essential: false };
  await put("services/service", { ...registered, tenant: "bench", access: "token" });
  await put("services/open", { ...registered, proxyPath: OPEN_PATH, tenant: "bench", access: "public" });
  const { clientSecret } = await put(`clients/${CLIENT}`, {
    tenant: "bench",
    confidential: true,
    redirectUris: [],
    postLogoutRedirectUris: [],
    grantTypes: ["client_credentials"],
    scopes: [],
  });
  return {
    server,
    path: `${prefix}/service/v1`,
    base: `${base}/service/v1`,
    source,
    openPath: `${prefix}${OPEN_PATH}`,
    openBase: `${base}${OPEN_PATH}`,
    anyone: {},
    async authorize() {
      const { access_token: token } = await ask(server.origin, {
        method: "POST",
        path: `${prefix}/oauth2/v1/token`,
        headers: { authorization: basic(CLIENT, clientSecret) },
        form: { grant_type: "client_credentials" },
        holds: (body) => typeof body.access_token === "string",
      });
      return { authorization: `Bearer ${token}` };
    },
  };
}

/** It fetches from whom a header names; below `path` as a gateway, else it changes nothing. */
export async function openBare(server: Server, path: "" | "/gateway/v1"): Promise<Target> {
  const source: string = await server.ask({});
  const base = path === "" ? source : `${server.origin}${path}`;
  const anyone = { "bench-service": source };
  // As long as one of the platform's; nobody reads it.
  const authorize = async () => (path === "" ? anyone : { ...anyone, authorization: `Bearer ${"x".repeat(800)}` });
  return { server, path, base, source, openPath: path, openBase: base, authorize, anyone };
}
