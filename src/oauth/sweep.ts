import { toSec } from "../platform/runtime/clock.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { Shards } from "../platform/storage/shards.ts";
import type { Federation } from "./federation/federation.ts";
import type { Logouts } from "./logout/logout.ts";
import type { OAuthStores } from "./stores.ts";

/**
 * Rows of one step of the sweep, steps of one run, and the pause between two: nothing else can use the database during
 * a step. D1 allows 1,000 statements in one invocation, which other sweeps share.
 */
const SWEEP = { rows: 500, steps: 100, pauseMs: 50 } as const;

/** Deletes expired rows of every table here, and used refresh tokens. */
export const createSweep =
  ({
    stores,
    federation,
    logouts,
    collapseRevocations,
    shards,
    isolate,
  }: {
    readonly stores: OAuthStores;
    readonly federation: Pick<Federation, "deleteExpired">;
    readonly logouts: Pick<Logouts, "deleteDead">;
    collapseRevocations(): Promise<void>;
    readonly shards: Shards;
    readonly isolate: Isolate;
  }) =>
  async (nowMs: number): Promise<void> => {
    const steps: readonly ((rows: number) => Promise<number>)[] = [
      (rows) => stores.trust.deleteExpired(toSec(nowMs), rows),
      (rows) => stores.sessions.deleteExpired(nowMs, rows, stores.elsewhere.dropAnchors),
      (rows) => federation.deleteExpired(nowMs, rows),
      (rows) => stores.mailLinks.deleteOld(nowMs, rows),
      (rows) => stores.invitations.deleteExpired(nowMs, rows),
      (rows) => stores.codes.deleteExpired(nowMs, rows, stores.elsewhere.dropAnchors),
      (rows) => stores.usedAssertions.deleteExpired(nowMs, rows),
      (rows) => stores.pushedRequests.deleteExpired(nowMs, rows),
      (rows) => stores.devices.deleteExpired(nowMs, rows),
      (rows) => logouts.deleteDead(nowMs, rows),
      async (rows) => {
        if (shards.length > 1) {
          const uses = await stores.elsewhere.lastUses(await stores.unregistered.idle(nowMs, rows));
          await stores.unregistered.noteUses(uses);
          await stores.elsewhere.endClients(await stores.unregistered.idle(nowMs, rows));
        }
        return stores.unregistered.deleteUnused(nowMs, rows);
      },
      (rows) => stores.refreshGrants.deleteUsed(nowMs, rows),
    ];
    await collapseRevocations();
    for (const deleteRows of steps)
      for (let step = 0; step < SWEEP.steps; step++) {
        if ((await deleteRows(SWEEP.rows)) < SWEEP.rows) break;
        await isolate.pause(SWEEP.pauseMs);
      }
    await stores.elsewhere.sweep(nowMs);
  };
