import { toSec } from "../platform/runtime/clock.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { Shards } from "../platform/storage/shards.ts";
import type { Federation } from "./federation/federation.ts";
import type { Logouts } from "./logout/logout.ts";
import type { OAuthStores } from "./stores.ts";

/**
 * Rows of one step of the sweep, and the pause after a full one: nothing else can use the database during a step.
 * `statements`: of all steps of one run. D1 allows 1,000 in one invocation, which other sweeps share.
 */
export const SWEEP = { rows: 500, pauseMs: 50, statements: 400 } as const;

/** A table, or several that go together. */
interface Table {
  /** The most statements of one step. */
  readonly statements: number;
  /** The statements of a step that finds nothing. Absent: as many. */
  readonly idle?: number;
  /** Deletes, or checks, at most some `rows` rows, and returns how many. */
  deleteRows(rows: number): Promise<number>;
}

/** Deletes expired rows of every table here, used refresh tokens, and sign-ins in shards that are not valid. */
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
    await collapseRevocations();
    const checks = stores.elsewhere.checks(nowMs, isolate.chance);
    const tables = tablesOf({ stores, federation, logouts, shards }, nowMs);
    const checked = checks.map((deleteRows) => ({ statements: 5, idle: 2, deleteRows }));
    await deleteInRounds([...tables, ...checked], isolate);
  };

/**
 * Each round takes one step of each table that may have more, so a large backlog of one does not hold up the others.
 * The rounds end when the statements are used up. Each run begins with another table, so that the same ones do not
 * always come last.
 */
async function deleteInRounds(tables: readonly Table[], isolate: Pick<Isolate, "chance" | "pause">): Promise<void> {
  const first = Math.floor(isolate.chance() * tables.length);
  let left: number = SWEEP.statements;
  for (let due = [...tables.slice(first), ...tables.slice(0, first)]; due.length > 0;) {
    const full: Table[] = [];
    for (const table of due) {
      // With very many shards, one step may be the work of a whole run.
      const statements = Math.min(table.statements, SWEEP.statements);
      if (statements > left) continue;
      const rows = await table.deleteRows(SWEEP.rows);
      left -= rows === 0 ? (table.idle ?? statements) : statements;
      if (rows < SWEEP.rows) continue;
      full.push(table);
      await isolate.pause(SWEEP.pauseMs);
    }
    due = full;
  }
}

function tablesOf(
  { stores, federation, logouts, shards }: Omit<Parameters<typeof createSweep>[0], "collapseRevocations" | "isolate">,
  nowMs: number,
): readonly Table[] {
  const databases = shards.length;
  /** Statements that remove the anchors of people in the shards. */
  const anchors = 2 * (databases - 1);
  return [
    { statements: 1, deleteRows: (rows) => stores.trust.deleteExpired(toSec(nowMs), rows) },
    {
      statements: 2 * databases + anchors,
      idle: 2 * databases,
      deleteRows: (rows) => stores.sessions.deleteExpired(nowMs, rows, stores.elsewhere.dropAnchors),
    },
    { statements: 1, deleteRows: (rows) => federation.deleteExpired(nowMs, rows) },
    { statements: 3, idle: 1, deleteRows: (rows) => stores.mailLinks.deleteOld(nowMs, rows) },
    { statements: 4, idle: 1, deleteRows: (rows) => stores.invitations.deleteExpired(nowMs, rows) },
    {
      statements: databases + anchors,
      idle: databases,
      deleteRows: (rows) => stores.codes.deleteExpired(nowMs, rows, stores.elsewhere.dropAnchors),
    },
    { statements: 1, deleteRows: (rows) => stores.usedAssertions.deleteExpired(nowMs, rows) },
    { statements: 1, deleteRows: (rows) => stores.pushedRequests.deleteExpired(nowMs, rows) },
    { statements: 1, deleteRows: (rows) => stores.devices.deleteExpired(nowMs, rows) },
    { statements: 2, deleteRows: (rows) => logouts.deleteDead(nowMs, rows) },
    {
      statements: 7 + 3 * databases,
      idle: 9,
      async deleteRows(rows) {
        // The last uses of grants in shards are noted first.
        if (databases > 1) {
          const uses = await stores.elsewhere.lastUses(await stores.unregistered.idle(nowMs, rows));
          await stores.unregistered.noteUses(uses);
          await stores.elsewhere.endClients(await stores.unregistered.idle(nowMs, rows));
        }
        return stores.unregistered.deleteUnused(nowMs, rows);
      },
    },
    { statements: databases, deleteRows: (rows) => stores.refreshGrants.deleteUsed(nowMs, rows) },
  ];
}
