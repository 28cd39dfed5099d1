import type { Bench } from "../lib/bench.ts";
import { growthStudy } from "./growth.ts";
import { forOperations, operations } from "./operations.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { BARE, openBare, openPlinth } from "./target.ts";
import { variantsStudy } from "./variants.ts";
import { worksOf } from "./works.ts";

export const mediaBench: Bench = {
  summary: "upload, fetch, content, listing; against a bare Worker; variants, against sharp; a million files",
  notes: [
    "Plinth as `npm start` serves it, `LOG_LEVEL=warn`; D1, R2, the queue and Images are the local ones, in the same " +
      "process or beside it, with their state on disk. An upload with its commit is three HTTP requests. What the bare " +
      "Worker does and leaves out stands in tools/bench/media/bare/worker.ts.",
  ],
  operations,
  subjects: [
    {
      id: "plinth",
      label: "Plinth",
      server: PLINTH_ON_DISK,
      setUp: async (server) => forOperations(await worksOf(await openPlinth(server))),
    },
    {
      id: "bare",
      label: "bare Worker",
      server: BARE,
      setUp: async (server) => forOperations(await worksOf(openBare(server))),
    },
  ],
  ratios: operations.map(({ id: operation }) => ({
    operation,
    of: "plinth",
    to: "bare",
    mark: { measure: "requestsPerSec", atLeast: 0.7 },
  })),
  studies: [variantsStudy, growthStudy],
};
