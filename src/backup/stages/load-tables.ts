import type { LoadStore } from "../database/load-store.ts";
import type { Finding } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { tableSection } from "../model/part.ts";
import type { JobLists, NumberedPart, Stage } from "../model/stage.ts";
import { placed, shardOfKey, TABLES, tablesOfShards, type PlacedTable } from "../model/tables.ts";
import type { StageDeps } from "./stage-deps.ts";
import { readPart } from "./topic-walk.ts";
import { placeIn } from "../model/stage.ts";

/** Loads the rows of the shards from a backup, and counts them afterwards. */
export const loadSequences = (loads: readonly LoadStore[]): Stage => ({
  name: "sequences",
  async step({ job }) {
    for (const [shard, load] of loads.entries()) {
      const own = Object.entries(job.facts.sequences).filter(([key]) => shardOfKey(key) === shard);
      await load.raiseSequences(Object.fromEntries(own.map(([key, last]) => [key.split("@")[0]!, last])));
    }
    return { next: undefined };
  },
});

/** All tables of a backup, each after the tables that its rows refer to. */
const tablesOf = (loads: readonly LoadStore[]): readonly PlacedTable[] => [
  ...TABLES.map((table) => placed(table, 0)),
  ...tablesOfShards(loads.length),
];

/** Loads one table after the other, some parts in each step. Tables without rows have no part, and take no step. */
export function loadTables({ parts }: StageDeps, loads: readonly LoadStore[]): Stage {
  const tables = tablesOf(loads);
  return {
    name: "tables",
    async step({ position, lists, job }) {
      const at = placeIn<PartPlace>(position, { table: 0, part: 0 });
      const found = partsAtOnce(tables, lists, at);
      const last = found.at(-1);
      if (last === undefined) return { next: undefined };
      const loaded = await Promise.all(
        found.map(async ({ at: { table: index }, part }) => {
          const { table, key } = tables[index]!;
          const { columns } = job.facts.tables[key] ?? { columns: [] };
          return { table, columns, rows: await readPart(parts, part.digest) };
        }),
      );
      await loads[tables[last.at.table]!.shard]!.load(loaded);
      const next: PartPlace = { ...last.at, part: last.at.part + 1 };
      return { next: JSON.stringify(next), counts: { rows: loaded.reduce((sum, { rows }) => sum + rows.length, 0) } };
    },
  };
}

/** The next parts of the tables of one shard, which are a page in all; at least one, if there is one. */
function partsAtOnce(tables: readonly PlacedTable[], lists: JobLists, from: PartPlace): readonly FoundPart[] {
  const found: FoundPart[] = [];
  let bytes = 0;
  for (let at = from; found.length < LIMITS.tablesAtOnce;) {
    const next = findPart(tables, lists, at);
    if (next === undefined) break;
    bytes += next.part.bytes;
    const isFirst = found[0] === undefined;
    if (!isFirst && (bytes > LIMITS.pageChars || tables[next.at.table]!.shard !== tables[found[0]!.at.table]!.shard))
      break;
    found.push(next);
    at = { ...next.at, part: next.at.part + 1 };
  }
  return found;
}

interface FoundPart {
  readonly at: PartPlace;
  readonly part: NumberedPart;
}

/** The number of a table, and that of a part in the list. */
interface PartPlace {
  readonly table: number;
  readonly part: number;
}

/** Finds the next part of the tables. Undefined: there is none. */
function findPart(
  tables: readonly PlacedTable[],
  lists: JobLists,
  { table, part: from }: PartPlace,
): FoundPart | undefined {
  for (const [ahead, { key }] of tables.slice(table).entries()) {
    const [part] = lists.partsOf(tableSection(key), ahead === 0 ? from : 0, 1);
    if (part !== undefined) return { at: { table: table + ahead, part: part.number }, part };
  }
  return undefined;
}

/**
 * Reports rows that were left out. This platform's own rows do not count: their numbers follow those of the backup. A
 * step counts tables of one shard.
 */
export const countTables = (loads: readonly LoadStore[]): Stage => ({
  name: "totals",
  async step({ position, job }) {
    const at = placeIn(position, 0);
    const wanted = (key: string): number => job.facts.tables[key]?.rows ?? 0;
    const some = countedAtOnce(tablesOf(loads).slice(at), wanted);
    const load = loads[some[0]?.shard ?? 0];
    if (some.length === 0 || load === undefined) return { next: undefined };
    const there = await load.counts(some.map(({ table, key }) => ({ table, last: job.facts.sequences[key] })));
    const dropped = some
      .map(({ key }, index) => ({ key, rows: wanted(key) - there[index]! }))
      .filter(({ rows }) => rows > 0);
    return {
      next: String(at + some.length),
      counts: { rows: -dropped.reduce((sum, { rows }) => sum + rows, 0) },
      findings: dropped.map(({ key, rows }): Finding => ({ kind: "row_dropped", subject: `${key}: ${rows}` })),
    };
  },
});

/** The first tables, of one shard and of a limited number of rows in all; at least one. */
function countedAtOnce(tables: readonly PlacedTable[], rowsOf: (key: string) => number): readonly PlacedTable[] {
  let rows = 0;
  const end = tables.findIndex(({ key, shard }, index) => {
    rows += rowsOf(key);
    return shard !== tables[0]!.shard || (index > 0 && rows > LIMITS.countedRows);
  });
  return end === -1 ? tables : tables.slice(0, end);
}
