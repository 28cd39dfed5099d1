import type { ServerModule } from "../lib/server-module.ts";
import { ask, basic } from "../lib/exchange.ts";
import { signInAsOperator } from "../lib/operator.ts";
import type { Server } from "../lib/server.ts";

/** As `npm start` serves it, whatever the environment says. */
export const PLINTH: ServerModule = {
  id: "plinth",
  module: "tools/bench/media/plinth-server.ts",
  env: { LOG_LEVEL: "warn", ALLOW_LOOPBACK: "true" },
  stateOn: "disk",
};
export const BARE: ServerModule = { id: "bare", module: "tools/bench/media/bare/server.ts", stateOn: "disk" };

/** Who serves media. */
export interface Target {
  readonly server: Server;
  /** Path of the media service. */
  readonly base: string;
  /** Of a request of a client's; they go out of date. */
  authorize(client: Client): Promise<Record<string, string>>;
}

export const TENANT = "bench";
/** Who uploads, and whose files lie there already (media/archive.ts). */
export const CLIENTS = { uploader: "bench.uploader", archivist: "bench.archivist" } as const;
export type Client = keyof typeof CLIENTS;

const opened = new WeakMap<Server, Promise<Target>>();

/** The platform with its clients, which are made at the first call. */
export function openPlinth(server: Server): Promise<Target> {
  const target = opened.get(server) ?? open(server);
  opened.set(server, target);
  return target;
}

async function open(server: Server): Promise<Target> {
  const { platform, put } = await signInAsOperator(server);
  const prefix: string = server.facts.pathPrefix;
  await put("organizations/bench", { name: "Bench" });
  await put(`tenants/${TENANT}`, { organization: "bench", name: "Bench" });
  await put(`tenants/${TENANT}/subscriptions/platform`, {});
  const secrets = new Map<Client, string>();
  for (const client of ["uploader", "archivist"] as const) {
    const { clientSecret } = await put(`clients/${CLIENTS[client]}`, {
      tenant: TENANT,
      confidential: true,
      redirectUris: [],
      postLogoutRedirectUris: [],
      grantTypes: ["client_credentials"],
      scopes: ["media_view", "media_manage"].map((scope) => `${platform}.${scope}`),
    });
    secrets.set(client, clientSecret);
  }
  return {
    server,
    base: `${prefix}/media/v2`,
    async authorize(client) {
      const { access_token: token } = await ask(server.origin, {
        method: "POST",
        path: `${prefix}/oauth2/v1/token`,
        headers: { authorization: basic(CLIENTS[client], secrets.get(client) ?? "") },
        form: { grant_type: "client_credentials" },
        holds: (body) => typeof body.access_token === "string",
      });
      return { authorization: `Bearer ${token}` };
    },
  };
}

/** Nobody's word is checked there: a header says who calls. */
export const openBare = (server: Server): Target => ({
  server,
  base: "/media/v2",
  authorize: async (client) => ({ "bench-client": CLIENTS[client] }),
});
