import { openPlatform, TENANT } from "../lib/platform.ts";
import { bareWorker } from "../lib/server-module.ts";
import type { Server } from "../lib/server.ts";

export const BARE = bareWorker("gateway");

/** The service as a client reaches it. */
export interface Target {
  readonly server: Server;
  /** The path of the service, and the address that its answers must name. */
  readonly path: string;
  readonly base: string;
  /** The service's own address. */
  readonly source: string;
  /** The same for callers without a token. */
  readonly openPath: string;
  readonly openBase: string;
  /** Headers with a new token; tokens expire. */
  authorize(): Promise<Record<string, string>>;
  /** Headers without a token. */
  readonly anyone: Record<string, string>;
}

/** Path of the same service for callers without a token. */
const OPEN_PATH = "/open/v1";

/** Plinth with its service and a client. */
export async function openPlinth(server: Server): Promise<Target> {
  const { base, prefix, put, client } = await openPlatform(server);
  const source: string = await server.ask({ service: true });
  const registered = { sourceUrl: source, scopes: [], essential: false, tenant: TENANT };
  await put("services/service", { ...registered, proxyPath: "/service/v1", access: "token" });
  await put("services/open", { ...registered, proxyPath: OPEN_PATH, access: "public" });
  const { authorize } = await client("caller", []);
  return {
    server,
    path: `${prefix}/service/v1`,
    base: `${base}/service/v1`,
    source,
    openPath: `${prefix}${OPEN_PATH}`,
    openBase: `${base}${OPEN_PATH}`,
    anyone: {},
    authorize,
  };
}

/** The baseline, which fetches from the address in a header. With a `path` it acts as a gateway. */
export async function openBare(server: Server, path: "" | "/gateway/v1" | "/guarded/v1"): Promise<Target> {
  const source: string = await server.ask({ service: true });
  const base = path === "" ? source : `${server.origin}${path}`;
  const anyone = { "bench-service": source };
  const authorize = async () => {
    if (path === "") return anyone;
    const token = await (await fetch(`${server.origin}/token`)).text();
    return { ...anyone, authorization: `Bearer ${token}` };
  };
  return { server, path, base, source, openPath: path, openBase: base, authorize, anyone };
}
