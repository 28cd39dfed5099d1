import { splitLines, type Line, type PartStore } from "../bucket/part-store.ts";
import type { DumpStore } from "../database/dump-store.ts";
import type { Facts, TableFacts } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { tableSection, type Part } from "../model/part.ts";
import type { Stage, StepResult } from "../model/stage.ts";
import type { PlacedTable } from "../model/tables.ts";
import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { placeIn } from "../model/stage.ts";

export interface TablePlace {
  readonly at: number;
  /** The key of the last row that was read; empty: none was. */
  readonly after: string;
  /** True for a table that is more than its share of a page. It is read alone, page by page. */
  readonly isAlone?: boolean;
}

/** Reads tables in the order of their keys: several small ones of a shard in a step, or a page of a larger one. */
export function dumpTables(
  name: string,
  tables: readonly PlacedTable[],
  /** By shard. */
  dumps: readonly DumpStore[],
  parts: PartStore,
): Stage {
  return {
    name,
    async step({ position, job }) {
      const place = placeIn<TablePlace>(position, FIRST_TABLE);
      const dumped = await dumpPage(tables, ({ shard }) => dumps[shard]!, place, parts, job.facts.tables);
      return { ...dumped, next: dumped.next && JSON.stringify(dumped.next) };
    },
  };
}

export const FIRST_TABLE: TablePlace = { at: 0, after: "" };

/** Reads on from a place. `known`: the facts so far. */
export async function dumpPage(
  tables: readonly PlacedTable[],
  dumpOf: (table: PlacedTable) => Pick<DumpStore, "pages">,
  { at, after, isAlone = after !== "" }: TablePlace,
  parts: PartStore,
  known: Facts["tables"],
): Promise<Omit<StepResult, "next"> & { readonly next: TablePlace | undefined }> {
  const some = isAlone ? tables.slice(at, at + 1) : readAtOnce(tables.slice(at));
  if (some.length === 0) return { next: undefined };
  const pages = await dumpOf(some[0]!).pages(
    some.map(({ table }) => table),
    after,
  );
  const larger = isAlone ? -1 : pages.findIndex(({ atEnd }) => !atEnd);
  const read = larger === -1 ? pages : pages.slice(0, larger);
  const done = collected(known);
  let next: TablePlace = { at: at + read.length, after: "", ...(larger !== -1 && { isAlone: true }) };
  for (const [index, { columns, rows, atEnd }] of read.entries()) {
    const { key } = some[index]!;
    const written = await writeParts(parts, tableSection(key), rows, atEnd);
    done.add(key, columns, written);
    if (!written.isAll || !atEnd) next = { at, after: written.lastKey, isAlone: true };
  }
  return { ...done.result(), next: next.at === tables.length ? undefined : next };
}

/** Collects the parts of tables, and what a step reports about them. */
export function collected(known: Facts["tables"]) {
  const facts: Record<string, TableFacts> = { ...known };
  const parts: Part[] = [];
  const counts = { rows: 0, parts: 0, partBytes: 0, newParts: 0 };
  return {
    add(key: string, columns: readonly string[], written: Awaited<ReturnType<typeof writeParts>>): void {
      facts[key] = { columns, rows: (facts[key]?.rows ?? 0) + written.lines };
      parts.push(...written.parts);
      counts.rows += written.lines;
      for (const what of ["parts", "partBytes", "newParts"] as const) counts[what] += written.counts[what];
    },
    result: () => ({ parts, counts, facts: { tables: facts } }),
  };
}

/** The first tables, of one shard. */
function readAtOnce(tables: readonly PlacedTable[]): readonly PlacedTable[] {
  const end = tables.findIndex(({ shard }) => shard !== tables[0]!.shard);
  return tables.slice(0, Math.min(LIMITS.tablesAtOnce, end === -1 ? tables.length : end));
}

/**
 * Writes lines as parts whose ends depend only on the rows (`splitLines`). Lines after the last end wait for the next
 * page, unless the table ends or the page has no end.
 */
export async function writeParts(store: PartStore, section: string, lines: readonly Line[], atEnd: boolean) {
  const split = splitLines(lines, LIMITS.rowsPerPart);
  const whole =
    split.rest.length > 0 && (atEnd || split.parts.length === 0) ? [...split.parts, split.rest] : split.parts;
  const texts = whole.map((part) => part.map(({ text }) => text));
  const written = await mapInParallel(texts, LIMITS.parallel, (part) => store.put(section, part));
  const taken = whole.flat();
  return {
    parts: written.map(({ part }) => part),
    counts: countsOf(written),
    lines: taken.length,
    lastKey: taken.at(-1)?.key ?? "",
    isAll: taken.length === lines.length,
  };
}

export const countsOf = (written: readonly { readonly part: Part; readonly isNew: boolean }[]) => ({
  parts: written.length,
  partBytes: written.reduce((sum, { part }) => sum + part.bytes, 0),
  newParts: written.filter(({ isNew }) => isNew).length,
});
