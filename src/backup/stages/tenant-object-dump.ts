import { createDumpStore, type DumpedPage, type DumpStore } from "../database/dump-store.ts";
import type { Facts } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { tableSection } from "../model/part.ts";
import { Refused, placeIn, type Stage } from "../model/stage.ts";
import { keyOfObjects, OBJECT_COLUMN, OBJECT_TABLES, type PlacedTable, type Table } from "../model/tables.ts";
import type { StageDeps } from "./stage-deps.ts";
import { collected, dumpPage, FIRST_TABLE, writeParts, type TablePlace } from "./table-stage.ts";

/**
 * Reads the tenant objects in the order of their numbers. There may be a hundred thousand of them, most of them small.
 * So a part has rows of several: of those whose numbers lie in the same block. Numbers are never used again, so the
 * parts of unchanged objects are the same in the next backup. A larger object is read alone, table by table, as a shard
 * is. The last numbers of owners and requesters are not in a backup: a load finds them in the rows that name one.
 *
 *   a block ── small objects: whole, each in one transaction ──▶ parts of their tables ──▶ the next block
 *      ▲         └── a large one ──▶ table after table, in pages ──┐
 *      └────────────── the rest of the block ◀─────────────────────┘
 */
export function dumpTenantObjects({ tenantObjects, listObjects, parts }: StageDeps): Stage {
  async function dumpOf(number: number): Promise<DumpStore> {
    if (tenantObjects === undefined)
      throw new Refused("There are tenants with objects of their own: set TENANT_OBJECTS, such as to asked:auto.");
    return createDumpStore(tenantObjects.at(number).db);
  }

  async function readWhole(number: number, known: Facts["tables"]): Promise<WholeObject | undefined> {
    const dump = await dumpOf(number);
    const most = { rows: LIMITS.pageRows, chars: LIMITS.objectTableChars };
    const pages = (await dump.pages(IN_ORDER, "", most)).map((page, at) =>
      numbered(number, IN_ORDER[at]!, page, known),
    );
    if (pages.some(({ atEnd }) => !atEnd)) return undefined;
    const chars = pages.flatMap(({ rows }) => rows).reduce((sum, { text }) => sum + text.length, 0);
    return { number, pages, chars };
  }

  /** Reads the first objects that are small, up to a page in all, and finds the large one that follows them. */
  async function readSmall(numbers: readonly number[], known: Facts["tables"]) {
    const small: WholeObject[] = [];
    let chars = 0;
    for (let at = 0; at < numbers.length; at += LIMITS.parallel)
      for (const [index, one] of (
        await Promise.all(numbers.slice(at, at + LIMITS.parallel).map((number) => readWhole(number, known)))
      ).entries()) {
        if (one === undefined) return { small, large: numbers[at + index] };
        if (chars > LIMITS.pageChars) return { small, large: undefined };
        small.push(one);
        chars += one.chars;
      }
    return { small, large: undefined };
  }

  return {
    name: "tenant_objects",
    async step({ position, job }) {
      const at = placeIn<ObjectPlace>(position, { after: 0 });
      const known = job.facts.tables;
      if (at.large !== undefined) {
        const { number, place } = at.large;
        const dump = await dumpOf(number);
        const pages: DumpStore["pages"] = async (tables, ...more) =>
          (await dump.pages(tables, ...more)).map((page, index) => numbered(number, tables[index]!, page, known));
        const { next, ...result } = await dumpPage(placedIn(number), () => ({ pages }), place, parts, known);
        const following: ObjectPlace =
          next === undefined ? { after: number } : { ...at, large: { number, place: next } };
        return { ...result, next: JSON.stringify(following) };
      }
      const listed = (await listObjects(at.after, LIMITS.tenantObjects)).map(({ number }) => number);
      if (listed.length === 0) return { next: undefined };
      const block = listed.filter((number) => blockOf(number) === blockOf(listed[0]!));
      const { small, large } = await readSmall(block, known);
      const done = collected(known);
      if (small.length > 0)
        for (const [index, table] of IN_ORDER.entries()) {
          const { columns } = small[0]!.pages[index]!;
          const lines = small.flatMap(({ number, pages }) => {
            const { columns: own, rows } = pages[index]!;
            requireSame(columns, own);
            // Objects have equal keys, such as those of their first owners, and the hash of a key may end a part.
            return rows.map(({ key, text }) => ({ key: `${number} ${key}`, text }));
          });
          const key = keyOfObjects(table);
          done.add(key, columns, await writeParts(parts, tableSection(key), lines, true));
        }
      const next: ObjectPlace = {
        after: small.at(-1)?.number ?? at.after,
        ...(large !== undefined && { large: { number: large, place: FIRST_TABLE } }),
      };
      return { ...done.result(), next: JSON.stringify(next) };
    },
  };
}

/** The last object that was read, and the place in a large one that follows it. */
interface ObjectPlace {
  readonly after: number;
  readonly large?: { readonly number: number; readonly place: TablePlace };
}

interface WholeObject {
  readonly number: number;
  /** By table, in the order of reading. */
  readonly pages: readonly DumpedPage[];
  readonly chars: number;
}

/** A backup reads tables in the opposite order of a restore (model/tables.ts). */
const IN_ORDER = OBJECT_TABLES.toReversed();
const placedIn = (number: number): readonly PlacedTable[] =>
  IN_ORDER.map((table) => ({ table, shard: number, key: keyOfObjects(table) }));
const blockOf = (number: number): number => Math.floor(number / LIMITS.tenantObjects);

/** The rows with the number of their object as the first column. */
function numbered(
  number: number,
  table: Table,
  { columns: own, rows, atEnd }: DumpedPage,
  known: Facts["tables"],
): DumpedPage {
  const columns = [OBJECT_COLUMN, ...own];
  requireSame(known[keyOfObjects(table)]?.columns ?? columns, columns);
  return { columns, rows: rows.map(({ key, text }) => ({ key, text: `[${number},${text.slice(1)}` })), atEnd };
}

/** The manifest has the columns of a table once, for all objects. */
function requireSame(columns: readonly string[], others: readonly string[]): void {
  if (columns.join() !== others.join())
    throw new Refused("A release with other columns was deployed while the backup ran. Make the backup again.");
}
