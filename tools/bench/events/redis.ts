import { createClient } from "redis";
import type { Subject } from "../lib/bench.ts";
import type { ServerModule } from "../lib/server-module.ts";
import { BrokenAnswer } from "../lib/connection.ts";
import type { Work } from "../lib/load.ts";
import { missing } from "../lib/program.ts";
import type { Server } from "../lib/server.ts";
import { BATCH, forAllOperations, MANY, once, PAYLOAD, storedBatches } from "./payload.ts";

/** `always`: an answer means that the event is on disk. `everysec`: it will be within a second. */
export const redisServer = (appendfsync: "always" | "everysec"): ServerModule => ({
  id: `redis-${appendfsync}`,
  module: "tools/bench/events/redis-server.ts",
  env: { BENCH_APPENDFSYNC: appendfsync },
  stateOn: "disk",
  absent: () => missing("redis-server"),
});

const groupOf = (client: number): string => `group-${client}`;

/**
 * Redis Streams. `XADD` publishes, and a batch is one transaction (`MULTI`). Each reading client is a group:
 * `XREADGROUP` reads and `XACK` commits. An event is its payload and nothing else.
 */
export const setUpRedis: Subject["setUp"] = async (server, { events: maxEvents }) => {
  const filled = once(() =>
    withClient(server, async (client) => {
      for (let batch = 0; batch < storedBatches(maxEvents); batch++) await add(client, "stored", BATCH);
      for (let index = 0; index < MANY; index++) await client.xGroupCreate("stored", groupOf(index), "0");
    }),
  );
  return forAllOperations((kind, events) => async () => {
    if (kind === "read") {
      await filled();
      return reading(server, events);
    }
    // Redis keeps everything in memory, so the events of the last measurement are removed.
    await withClient(server, (client) => client.unlink("orders"));
    return publishing(server, events);
  });
};

const publishing = (server: Server, events: number): Work => ({
  async connect() {
    const client = await open(server);
    return { step: () => add(client, "orders", events), close: () => client.destroy() };
  },
});

async function add(client: Client, stream: string, events: number): Promise<void> {
  const event = { payload: PAYLOAD };
  if (events === 1) return expect(typeof (await client.xAdd(stream, "*", event)) === "string", "XADD gives no id");
  const batch = client.multi();
  for (let count = 0; count < events; count++) batch.xAdd(stream, "*", event);
  expect((await batch.exec()).length === events, "MULTI gives another number of ids");
}

const reading = (server: Server, events: number): Work => ({
  async connect(index) {
    const client = await open(server);
    const group = groupOf(index);
    const read = async (): Promise<readonly string[] | undefined> => {
      const from = [{ key: "stored", id: ">" }];
      const streams: any = await client.xReadGroup(group, "reader", from, { COUNT: events });
      return streams?.[0].messages.map(({ id }: { id: string }) => id);
    };
    return {
      async step() {
        let ids = await read();
        if (ids === undefined) {
          await client.xGroupSetId("stored", group, "0");
          ids = await read();
        }
        if (ids === undefined) throw new BrokenAnswer("there is nothing to read");
        expect((await client.xAck("stored", group, [...ids])) === ids.length, "XACK took another number of ids");
      },
      close: () => client.destroy(),
    };
  },
});

type Client = Awaited<ReturnType<typeof open>>;

async function open({ host, port }: Server) {
  const client = createClient({ socket: { host, port, reconnectStrategy: false } });
  // An error rejects the command that it breaks.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function withClient<T>(server: Server, run: (client: Client) => Promise<T>): Promise<T> {
  const client = await open(server);
  try {
    return await run(client);
  } finally {
    client.destroy();
  }
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new BrokenAnswer(otherwise);
}
