import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectLawful } from "./laws.ts";
import { operations, type Operation } from "./operations.ts";
import { planOf, shown, type Plan } from "./plan.ts";
import { Sandbox } from "./sandbox.ts";
import { send } from "./send.ts";
import { isSearch, runs } from "../support/model-runs.ts";

/**
 * Every operation of api/openapi.json, with requests made from its schemas: good ones, ones with a fault, and nothing
 * but faults. `FUZZ_RUNS` says how many for each, `FUZZ_SEED` repeats what a failure printed, `FUZZ_SHARES` prints how
 * they were answered.
 *
 * The short run of `npm test` sends the same requests each time (test/support/runtime/fixed-seeds.ts).
 */
const given = env as unknown as Record<"FUZZ_SEED" | "FUZZ_RUNS" | "FUZZ_SHARES", string>;
const numRuns = Number(given.FUZZ_RUNS || runs(1));
const seed = Number(given.FUZZ_SEED || (isSearch ? Math.floor(Math.random() * 2 ** 31) : 1));

/** Each operation has its own, or all of them would get the same few faults in a short run. */
const seedOf = ({ id }: Operation): number =>
  Array.from(id).reduce((hash, char) => (Math.imul(hash, 31) + char.charCodeAt(0)) | 0, seed);

/** Fails with the seed that `FUZZ_SEED` takes. */
function reporter(run: fc.RunDetails<[Plan]>): void {
  const message = fc.defaultReportMessage({ ...run, seed } as typeof run);
  if (message !== undefined) throw new Error(message, { cause: run.errorInstance });
}

/** Their good requests need what no schema tells: a state that the platform made and another party brings back. */
const WITHOUT_SUCCESS = new Set([
  "repairComparison",
  "getBackup",
  "deleteBackup",
  "verifyBackup",
  "restoreBackup",
  // A shard that is there, and another one than the tenant's.
  "moveTenant",
  "readMove",
  "reopenTopic",
  "restoreObject",
  "restoreShard",
  "reopenPushSubscription",
  "federationCallback",
  "linkIdentity",
  // Off, unless a deployment turns it on.
  "registerClient",
  // Bound to a mailbox, which the fuzzer's platform has not.
  "openForgotPassword",
  "forgotPassword",
  "openResetLink",
  "resetPassword",
  "openVerifyLink",
  "verifyAddress",
  "openInvitation",
  "acceptInvitation",
  // The fuzzer's platform has no provider to link.
  "linkProvider",
  "unlinkProvider",
  // The people of the fuzzer's platform have no authenticator app.
  "secondFactor",
  "confirmSecondFactor",
  "removeUserSecondFactor",
  // Nor passkeys, which an authenticator makes.
  "addPasskey",
  "removePasskey",
  "removeUserPasskey",
  // No person of the fuzzer came with a client that nobody registered.
  "removeUnregisteredClient",
  // One test at a time, and the other address had it.
  "deprecatedTestPushSubscription",
  // Nobody has read the topics of the fuzzer.
  "previewMove",
  "moveCursor",
  // No cron runs its sweeps.
  "getDeepHealth",
]);

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.make();
});

const shares = new Map<string, Map<number, number>>();
afterAll(() => {
  if (given.FUZZ_SHARES) console.log(tableOf(shares));
});

describe(`any request to any operation, seed ${seed}`, () => {
  it.each(operations.map((operation) => [`${operation.method} ${operation.template}`, operation] as const))(
    "%s: is answered as the document says",
    async (_, operation) => {
      const statuses = new Map<number, number>();
      let last = "";
      shares.set(operation.id, statuses);
      await sandbox.begin(operation);
      await fc.assert(
        fc.asyncProperty(planOf(operation), async (plan) => {
          await sandbox.prepare(operation);
          const sent = await send(operation, plan, sandbox);
          if (sent === undefined) return;
          const { status } = sent.response;
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status >= 400) last = await sent.response.clone().text();
          await expectLawful(operation, sent);
          await sandbox.after(operation, sent.response);
        }),
        {
          seed: seedOf(operation),
          numRuns: operation.deprecated ? Math.ceil(numRuns / 5) : numRuns,
          examples: [[shown(operation)]],
          reporter,
        },
      );
      if (!WITHOUT_SUCCESS.has(operation.id))
        expect(
          [...statuses.keys()].filter((status) => status < 400),
          `nothing succeeded: ${[...statuses].join(" ")}; the last answer: ${last}`,
        ).not.toEqual([]);
    },
    Math.max(20_000, numRuns * 200),
  );
});

function tableOf(all: typeof shares): string {
  const rows = [...all].map(([id, statuses]) => {
    const told = [...statuses].sort(([one], [other]) => one - other).map(([status, count]) => `${status}:${count}`);
    return `${id.padEnd(40)} ${told.join(" ")}`;
  });
  return `seed ${seed}\n${rows.join("\n")}`;
}
