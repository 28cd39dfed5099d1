import { spawnSync } from "node:child_process";
import { AckPolicy, jetstream, jetstreamManager, StorageType } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import type { Subject } from "../lib/bench.ts";
import type { ServerModule } from "../lib/server-module.ts";
import { BrokenAnswer } from "../lib/connection.ts";
import type { Work } from "../lib/load.ts";
import { findProgram, missing } from "../lib/program.ts";
import type { Server } from "../lib/server.ts";
import { batchOf, BATCH, forAllOperations, MANY, once, PAYLOAD, storedBatches } from "./payload.ts";

/** `always`: an answer means that the event is on disk. `default`: it will be within two minutes. */
export const natsServer = (sync: "default" | "always"): ServerModule => ({
  id: `nats-${sync}`,
  module: "tools/bench/events/nats-server.ts",
  env: sync === "always" ? { BENCH_SYNC_INTERVAL: sync } : {},
  stateOn: "disk",
  absent: () => missing("nats-server") ?? (sync === "always" ? withoutSync() : undefined),
});

const SYNC_SINCE = [2, 10] as const;

/** Says why this version cannot write to disk before it answers. */
function withoutSync(): string | undefined {
  const told = spawnSync(findProgram("nats-server") ?? "", ["--version"], { encoding: "utf8" }).stdout;
  const [, version = "?", major = "0", minor = "0"] = /v((\d+)\.(\d+)\S*)/.exec(told) ?? [];
  const isNew = Number(major) > SYNC_SINCE[0] || (Number(major) === SYNC_SINCE[0] && Number(minor) >= SYNC_SINCE[1]);
  return isNew ? undefined : `nats-server ${version} has no sync_interval, which came with ${SYNC_SINCE.join(".")}`;
}

const readerOf = (client: number): string => `reader-${client}`;

/**
 * NATS JetStream with streams in files. Every event is acknowledged when it is stored; a batch is as many publishes at
 * the same time, because NATS has no batch. Each reading client is a durable consumer, which fetches, acknowledges all
 * up to an event and waits for the server's answer. An event is its payload and nothing else.
 */
export const setUpNats: Subject["setUp"] = async (server, { events: maxEvents }) => {
  const stored = storedBatches(maxEvents) * BATCH;
  await withManager(server, async (manager) => {
    await manager.streams.add({ name: "orders", subjects: ["orders"], storage: StorageType.File });
    await manager.streams.add({ name: "stored", subjects: ["stored"], storage: StorageType.File });
  });
  const filled = once(async () => {
    const client = await publishing(server, "stored", BATCH).connect(0);
    for (let batch = 0; batch < stored / BATCH; batch++) await client.step();
    await client.close();
    await withManager(server, async (manager) => {
      for (let index = 0; index < MANY; index++) await addReader(manager, index);
    });
  });
  return forAllOperations((kind, events) => async () => {
    if (kind === "read") {
      await filled();
      return reading(server, events, stored);
    }
    await withManager(server, (manager) => manager.streams.purge("orders"));
    return publishing(server, "orders", events);
  });
};

const publishing = (server: Server, subject: string, events: number): Work => ({
  async connect() {
    const connection = await open(server);
    const stream = jetstream(connection);
    const payloads = batchOf(events, new TextEncoder().encode(PAYLOAD));
    return {
      step: () => Promise.all(payloads.map((payload) => stream.publish(subject, payload))),
      close: () => connection.close(),
    };
  },
});

const reading = (server: Server, events: number, stored: number): Work => ({
  async connect(index) {
    const connection = await open(server);
    const manager = await jetstreamManager(connection);
    const findReader = () => jetstream(connection).consumers.get("stored", readerOf(index));
    let reader = await findReader();
    let read = (await reader.info()).delivered.stream_seq;
    return {
      async step() {
        // A consumer cannot go back.
        if (read >= stored) {
          await manager.consumers.delete("stored", readerOf(index));
          await addReader(manager, index);
          reader = await findReader();
          read = 0;
        }
        let last: Message | undefined;
        for await (const message of await reader.fetch({ max_messages: events, expires: FETCH_MS })) {
          last = message;
          read += 1;
        }
        if (!(await last?.ackAck())) throw new BrokenAnswer("nothing was read, or not acknowledged");
      },
      close: () => connection.close(),
    };
  },
});

const FETCH_MS = 5_000;

type Manager = Awaited<ReturnType<typeof jetstreamManager>>;
interface Message {
  ackAck(): Promise<boolean>;
}

const addReader = (manager: Manager, index: number): Promise<unknown> =>
  manager.consumers.add("stored", {
    durable_name: readerOf(index),
    ack_policy: AckPolicy.All,
    max_ack_pending: BATCH * 10,
  });

const open = ({ host, port }: Server) => connect({ servers: `${host}:${port}`, reconnect: false });

async function withManager(server: Server, run: (manager: Manager) => Promise<unknown>): Promise<void> {
  const connection = await open(server);
  try {
    await run(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}
