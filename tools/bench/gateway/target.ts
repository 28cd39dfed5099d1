import { openPlatform, TENANT } from "../lib/platform.ts";
import { bareWorker } from "../lib/server-module.ts";
import type { Server } from "../lib/server.ts";

export const BARE = bareWorker("gateway");

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

/** It fetches from whom a header names; below `path` as a gateway, else it changes nothing. */
export async function openBare(server: Server, path: "" | "/gateway/v1"): Promise<Target> {
  const source: string = await server.ask({ service: true });
  const base = path === "" ? source : `${server.origin}${path}`;
  const anyone = { "bench-service": source };
  // As long as one of the platform's; nobody reads it.
  const authorize = async () => (path === "" ? anyone : { ...anyone, authorization: `Bearer ${"x".repeat(800)}` });
  return { server, path, base, source, openPath: path, openBase: base, authorize, anyone };
}
