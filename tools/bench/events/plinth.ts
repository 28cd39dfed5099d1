import type { Subject } from "../lib/bench.ts";
import type { ServerModule } from "../lib/server-module.ts";
import { ask, basic, exchange, repeated, type Exchange } from "../lib/exchange.ts";
import { repeat, type Work } from "../lib/load.ts";
import { signInAsOperator } from "../lib/operator.ts";
import type { Server } from "../lib/server.ts";
import { consuming, type Reader } from "./consume.ts";
import { batchOf, BATCH, forAllOperations, MANY, once, PAYLOAD, storedBatches } from "./payload.ts";

/** As `npm start` serves it, whatever the environment says. */
export const PLINTH: ServerModule = {
  id: "plinth",
  module: "tools/bench/lib/platform-server.ts",
  env: { LOG_LEVEL: "warn", ALLOW_LOOPBACK: "true" },
  stateOn: "disk",
};
export const PLINTH_IN_MEMORY: ServerModule = { ...PLINTH, id: "plinth-memory", stateOn: "memory" };

/** Plinth with a client that owns topics and some that read them. */
export interface Plinth {
  makeTopic(eventType: string): Promise<void>;
  publishing(eventType: string, events: number): Promise<Work>;
  /** The same as one request. */
  publishRequest(eventType: string, events: number): Promise<Buffer>;
  /** One for each reading client. */
  readers(eventType: string): Promise<Reader[]>;
  /** A call of the owner's, below the topic's address; gives what the answer says. */
  call(method: "GET" | "POST", eventType: string, path: string, json?: unknown): Promise<any>;
}

const OWNER = "bench.owner";
const readerName = (index: number): string => `bench.reader-${index}`;

const opened = new WeakMap<Server, Promise<Plinth>>();

/** Makes owner and readers at the first call. */
export function openPlinth(server: Server): Promise<Plinth> {
  const plinth = opened.get(server) ?? open(server);
  opened.set(server, plinth);
  return plinth;
}

async function open(server: Server): Promise<Plinth> {
  const { host, port, origin } = server;
  const { platform, put } = await signInAsOperator(server);
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
  const publishExchange = async (eventType: string, events: number): Promise<Exchange> =>
    exchange({
      method: "POST",
      path: `${pathOf(eventType)}/publish`,
      host: `${host}:${port}`,
      headers: await authorize(OWNER),
      json: events === 1 ? { payload: PAYLOAD } : batchOf(events, { payload: PAYLOAD }),
      status: 201,
      holds: ({ ids }) => ids.length === events,
    });
  const ownerCall = async (method: "GET" | "POST", path: string, json?: unknown): Promise<any> =>
    ask(origin, { method, path, headers: await authorize(OWNER), json, holds: () => true });
  return {
    makeTopic: (eventType) => ownerCall("POST", `${prefix}/pubsub/v1/topics`, { eventType }),
    call: (method, eventType, path, json) => ownerCall(method, `${pathOf(eventType)}${path}`, json),
    publishing: async (eventType, events) => repeated(await publishExchange(eventType, events), { host, port }),
    publishRequest: async (eventType, events) => (await publishExchange(eventType, events)).request,
    readers(eventType) {
      const at = (operation: string): string => `${pathOf(eventType)}/${operation}`;
      const paths = { read: at("read"), commit: at("commit"), seek: at("seek"), events: at("events") };
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
