import type { Bench } from "../lib/bench.ts";
import { BARE, BARE_IN_MEMORY, setUpBare } from "./bare.ts";
import { growthStudy } from "./growth.ts";
import { natsServer, setUpNats } from "./nats.ts";
import { BATCH, CLIENTS, operationId, SIZES } from "./payload.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { PLINTH_IN_MEMORY, setUpPlinth } from "./plinth.ts";
import { pushStudy } from "./push.ts";
import { crowdStudy } from "./crowd.ts";
import { waitStudy } from "./wait.ts";
import { redisServer, setUpRedis } from "./redis.ts";
import { wholeStudy } from "./whole.ts";

const KINDS = [
  ["publish", "publish"],
  ["read", "read and commit"],
] as const;
const operations = KINDS.flatMap(([kind, verb]) =>
  SIZES.flatMap((events) =>
    CLIENTS.map((clients) => ({
      id: operationId(kind, events, clients),
      label: `${verb} ${events}, ${clients} client${clients === 1 ? "" : "s"}`,
      clients,
      events,
    })),
  ),
);

export const eventsBench: Bench = {
  summary: "publishing, reading and committing; against a bare Worker, Redis Streams and NATS JetStream",
  notes: [
    "Plinth as `npm start` serves it, `LOG_LEVEL=warn`, with one topic of one shard. One client publishes over all " +
      "connections; each reader is a client of its own with a cursor and a lock; every request carries a token. Read and " +
      "commit is two HTTP requests. Durable: the runtime answers after SQLite has written its log with `fsync`. State in " +
      "memory: the same on tmpfs, where `fsync` costs nothing. The bare Worker is described in " +
      "tools/bench/events/bare/worker.ts. Redis and NATS use their own protocols and clients, without HTTP and JSON, and " +
      "store only an event's payload; a batch is a transaction of Redis (`MULTI`) and a hundred concurrent messages of NATS.",
  ],
  operations,
  subjects: [
    { id: "plinth", label: "Plinth", server: PLINTH_ON_DISK, setUp: setUpPlinth },
    { id: "bare", label: "bare Worker", server: BARE, setUp: setUpBare("") },
    { id: "bare-one", label: "bare Worker, one object", server: BARE, setUp: setUpBare("/one") },
    { id: "plinth-memory", label: "Plinth, state in memory", server: PLINTH_IN_MEMORY, setUp: setUpPlinth },
    { id: "bare-memory", label: "bare Worker, state in memory", server: BARE_IN_MEMORY, setUp: setUpBare("") },
    { id: "redis-always", label: "Redis Streams, fsync always", server: redisServer("always"), setUp: setUpRedis },
    { id: "redis", label: "Redis Streams, fsync every second", server: redisServer("everysec"), setUp: setUpRedis },
    { id: "nats-always", label: "NATS JetStream, fsync always", server: natsServer("always"), setUp: setUpNats },
    { id: "nats", label: "NATS JetStream, no fsync", server: natsServer("default"), setUp: setUpNats },
  ],
  ratios: operations.flatMap(({ id: operation }) => [
    { operation, of: "plinth", to: "bare", mark: { measure: "requestsPerSec" as const, atLeast: 0.7 } },
    { operation, of: "plinth", to: "bare-one" },
    { operation, of: "plinth-memory", to: "bare-memory" },
  ]),
  levels: [{ operation: operationId("publish", BATCH, 16), subject: "plinth", eventsPerSecAtLeast: 50_000 }],
  studies: [wholeStudy, growthStudy, pushStudy, waitStudy, crowdStudy],
};
