import type { Bench, Ratio } from "../lib/bench.ts";
import { exchange, repeated } from "../lib/exchange.ts";
import type { Work } from "../lib/load.ts";
import { gigabyteStudy } from "./gigabyte.ts";
import { reading, type LongBody } from "./long-body.ts";
import { SMALL } from "./rows.ts";
import { PLINTH } from "../lib/server-module.ts";
import { BARE, openBare, openPlinth, type Target } from "./target.ts";

/** Blocks of a long body: some 32 MB. */
const BLOCKS = 32;
const LONG = {
  sparse: { density: "sparse", blocks: BLOCKS },
  dense: { density: "dense", blocks: BLOCKS },
  gzip: { density: "dense", isCompressed: true, blocks: BLOCKS },
} as const satisfies Record<string, Omit<LongBody, "isRewritten">>;
type Long = keyof typeof LONG;
const LONGS = Object.keys(LONG) as Long[];

/** Work for each operation on a long body. */
const longWorks = (target: Target, isRewritten: boolean): Record<string, () => Promise<Work>> =>
  Object.fromEntries(
    LONGS.map((id) => [id, async () => reading(target, await target.authorize(), { ...LONG[id], isRewritten })]),
  );

const small = (target: Target, isOpen: boolean) => async (): Promise<Work> => {
  const { server, path, base, openPath, openBase } = target;
  const expected = JSON.stringify(SMALL(isOpen ? openBase : base));
  const headers = isOpen ? target.anyone : await target.authorize();
  const place = { path: `${isOpen ? openPath : path}/small`, host: `${server.host}:${server.port}` };
  const holds = (body: unknown): boolean => JSON.stringify(body) === expected;
  return repeated(exchange({ method: "GET", ...place, headers, holds }), server);
};

const smallWorks = (target: Target) => ({
  "open-by-1": small(target, true),
  "open-by-16": small(target, true),
  "token-by-1": small(target, false),
  "token-by-16": small(target, false),
});
const SMALLS = ["open-by-1", "open-by-16", "token-by-1", "token-by-16"] as const;

const half = (operation: Long): Ratio => ({
  operation,
  of: "plinth",
  to: "untouched",
  mark: { measure: "requestsPerSec", atLeast: 0.5 },
});
const asFast = (operation: string): Ratio[] => [
  { operation, of: "plinth", to: "bare", mark: { measure: "requestsPerSec", atLeast: 0.7 } },
  { operation, of: "plinth", to: "bare-gateway" },
  { operation, of: "plinth", to: "guarded-gateway" },
];

export const gatewayBench: Bench = {
  summary: "forwarding, against a Worker that only fetches; rewriting, against passing through; a gigabyte",
  notes: [
    "Plinth as `npm start` serves it, `LOG_LEVEL=warn`. The service is a Node server in the same process group as the " +
      "runtime and on its core, for each subject alike. Long bodies: 32 times the same megabyte of JSON rows of 150 " +
      "bytes, by one client that reads as fast as it can; untouched is the same body as application/octet-stream. " +
      "MB/s are requests/s times 32. Compressed by the service, it is decoded for both, since the client takes no coding.",
  ],
  operations: [
    { id: "open-by-1", label: "a small answer of a public service, 1 client", clients: 1 },
    { id: "open-by-16", label: "a small answer of a public service, 16 clients", clients: 16 },
    { id: "token-by-1", label: "a small answer, by a token, 1 client", clients: 1 },
    { id: "token-by-16", label: "a small answer, by a token, 16 clients", clients: 16 },
    { id: "sparse", label: "32 MB, an address in every 100th row", clients: 1 },
    { id: "dense", label: "32 MB, an address in every row", clients: 1 },
    { id: "gzip", label: "32 MB, an address in every row, compressed by the service", clients: 1 },
  ],
  subjects: [
    {
      id: "plinth",
      label: "Plinth",
      server: PLINTH,
      async setUp(server) {
        const target = await openPlinth(server);
        return { ...smallWorks(target), ...longWorks(target, true) };
      },
    },
    {
      id: "untouched",
      label: "Plinth, untouched",
      server: PLINTH,
      setUp: async (server) => longWorks(await openPlinth(server), false),
    },
    {
      id: "bare",
      label: "bare Worker",
      server: BARE,
      setUp: async (server) => smallWorks(await openBare(server, "")),
    },
    {
      id: "bare-gateway",
      label: "bare Worker, as a gateway",
      server: BARE,
      setUp: async (server) => smallWorks(await openBare(server, "/gateway/v1")),
    },
    {
      id: "guarded-gateway",
      label: "… with a limit of time and a verified token",
      server: BARE,
      setUp: async (server) => smallWorks(await openBare(server, "/guarded/v1")),
    },
  ],
  ratios: [...SMALLS.flatMap(asFast), ...LONGS.map(half)],
  studies: [gigabyteStudy],
};
