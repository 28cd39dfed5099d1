import type { Subject } from "../lib/bench.ts";
import { PLINTH, type ServerModule } from "../lib/server-module.ts";
import { call, exchange, repeated, type Exchange } from "../lib/exchange.ts";
import { repeat, type Work } from "../lib/load.ts";
import { openPlatform, type Client } from "../lib/platform.ts";
import type { Server } from "../lib/server.ts";
import { consuming, type Reader } from "./consume.ts";
import { batchOf, BATCH, forAllOperations, MANY, once, PAYLOAD, storedBatches } from "./payload.ts";

export const PLINTH_IN_MEMORY: ServerModule = { ...PLINTH, id: "plinth-memory" };

/** Plinth with a client that owns topics and clients that read them. */
export interface Plinth {
  readonly origin: string;
  /** The path of the owner's topic, with the prefix. */
  pathOf(eventType: string): string;
  makeTopic(eventType: string): Promise<void>;
  publishing(eventType: string, events: number): Promise<Work>;
  /** One publish as the bytes of its request. */
  publishRequest(eventType: string, events: number): Promise<Buffer>;
  /** One for each reading client. */
  readers(eventType: string): Promise<Reader[]>;
  /** Calls the owner's topic; returns the body. */
  call(method: "GET" | "POST", eventType: string, path: string, json?: unknown): Promise<any>;
}

/** Makes the owner and the readers at the first call. */
export async function openPlinth(server: Server): Promise<Plinth> {
  const { host, port } = server;
  const { prefix, base, client } = await openPlatform(server);
  const owner = await client("owner", ["pubsub_publish"]);
  const readers: Client[] = [];
  for (let index = 0; index < MANY; index++) readers.push(await client(`reader-${index}`, ["pubsub.topic=*"]));
  const topics = "/pubsub/v1/topics";
  const pathOf = (eventType: string): string => `${topics}/${owner.id}/${eventType}`;
  const publishExchange = async (eventType: string, events: number): Promise<Exchange> =>
    exchange({
      method: "POST",
      path: `${prefix}${pathOf(eventType)}/publish`,
      host: `${host}:${port}`,
      headers: await owner.authorize(),
      json: events === 1 ? { payload: PAYLOAD } : batchOf(events, { payload: PAYLOAD }),
      status: 201,
      holds: ({ ids }) => ids.length === events,
    });
  const ownerCall = async (method: "GET" | "POST", path: string, json?: unknown): Promise<any> => {
    const status = method === "POST" ? 201 : 200;
    return (await call(method, `${base}${path}`, { status, headers: await owner.authorize(), json })).json();
  };
  return {
    origin: server.origin,
    pathOf: (eventType) => `${prefix}${pathOf(eventType)}`,
    makeTopic: (eventType) => ownerCall("POST", topics, { eventType }),
    call: (method, eventType, path, json) => ownerCall(method, `${pathOf(eventType)}${path}`, json),
    publishing: async (eventType, events) => repeated(await publishExchange(eventType, events), { host, port }),
    publishRequest: async (eventType, events) => (await publishExchange(eventType, events)).request,
    readers(eventType) {
      const at = (operation: string): string => `${prefix}${pathOf(eventType)}/${operation}`;
      const paths = { read: at("read"), commit: at("commit"), seek: at("seek"), events: at("events") };
      return Promise.all(readers.map(async (reader) => ({ host, port, paths, headers: await reader.authorize() })));
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
