import type { ServerModule, Subject } from "../lib/bench.ts";
import { ask, basic, exchange, repeated } from "../lib/exchange.ts";
import { repeat, type Work } from "../lib/load.ts";
import { signInAsOperator } from "../lib/operator.ts";
import type { Server } from "../lib/server.ts";
import { consuming, type Reader } from "./consume.ts";
import { batchOf, BATCH, forAllOperations, MANY, once, PAYLOAD, storedBatches } from "./payload.ts";

/** As `npm start` serves it, whatever the environment says. */
export const PLINTH: ServerModule = {
  id: "plinth",
  module: "bench/lib/platform-server.ts",
  env: { LOG_LEVEL: "warn", ALLOW_LOOPBACK: "true" },
  stateOn: "disk",
};
export const PLINTH_IN_MEMORY: ServerModule = { ...PLINTH, id: "plinth-memory", stateOn: "memory" };

/** Plinth with a topic's owner and some readers, each a client of its own. */
export interface Plinth {
  /** The owner's. */
  publishing(eventType: string, events: number): Promise<Work>;
  /** One of each client. */
  readers(eventType: string): Promise<Reader[]>;
  /** Owner of every topic. */
  post(path: string, json: unknown): Promise<any>;
  makeTopic(eventType: string): Promise<void>;
}

const OWNER = "bench.owner";
const readerName = (index: number): string => `bench.reader-${index}`;

export async function openPlinth(server: Server): Promise<Plinth> {
  const { host, port, origin } = server;
  const { base, platform, put } = await signInAsOperator(server);
  const prefix: string = server.facts.pathPrefix;
  await put("organizations/bench", { name: "Bench" });
  await put("tenants/bench", { organization: "bench", name: "Bench" });
  await put("tenants/bench/subscriptions/platform", {});
  const secrets = new Map<string, string>();
  for (const [name, scope] of [
    [OWNER, "pubsub_publish"],
    ...Array.from({ length: MANY }, (_, index) => [readerName(index), "pubsub.topic=*"] as const),
  ] as const) {
    const { clientSecret } = await put(`clients/${name}`, {
      tenant: "bench",
      confidential: true,
      redirectUris: [],
      postLogoutRedirectUris: [],
      grantTypes: ["client_credentials"],
      scopes: [`${platform}.${scope}`],
    });
    secrets.set(name, clientSecret);
  }
  const authorize = async (client: string): Promise<Record<string, string>> => {
    const { access_token: token } = await ask(origin, {
      method: "POST",
      path: `${prefix}/oauth2/v1/token`,
      headers: { authorization: basic(client, secrets.get(client) ?? "") },
      form: { grant_type: "client_credentials" },
      holds: (body) => typeof body.access_token === "string",
    });
    return { authorization: `Bearer ${token}` };
  };
  const pathOf = (eventType: string): string => `${prefix}/pubsub/v1/topics/${OWNER}/${eventType}`;
  const post: Plinth["post"] = async (path, json) => {
    const headers = await authorize(OWNER);
    return ask(base, { method: "POST", path: `${prefix}/pubsub/v1${path}`, headers, json, holds: () => true });
  };
  return {
    post,
    makeTopic: (eventType) => post("/topics", { eventType }),
    async publishing(eventType, events) {
      const json = events === 1 ? { payload: PAYLOAD } : batchOf(events, { payload: PAYLOAD });
      const holds = (body: any): boolean => body.ids.length === events;
      const path = `${pathOf(eventType)}/publish`;
      const headers = await authorize(OWNER);
      return repeated(exchange({ method: "POST", path, host: `${host}:${port}`, headers, json, status: 201, holds }), {
        host,
        port,
      });
    },
    readers(eventType) {
      const at = (operation: string): string => `${pathOf(eventType)}/${operation}`;
      const paths = { read: at("read"), commit: at("commit"), seek: at("seek") };
      return Promise.all(
        Array.from({ length: MANY }, async (_, index) => ({
          host,
          port,
          paths,
          headers: await authorize(readerName(index)),
        })),
      );
    },
  };
}

export const setUpPlinth: Subject["setUp"] = async (server, { events: maxEvents, stopping }) => {
  const plinth = await openPlinth(server);
  await plinth.makeTopic("orders");
  const filled = once(async () => {
    await plinth.makeTopic("stored");
    await repeat(await plinth.publishing("stored", BATCH), storedBatches(maxEvents), stopping);
  });
  return forAllOperations((kind, events) => async () => {
    if (kind === "publish") return plinth.publishing("orders", events);
    await filled();
    return consuming(await plinth.readers("stored"), events);
  });
};
