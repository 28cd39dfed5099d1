import { splitLines, type Line, type PartStore } from "../bucket/part-store.ts";
import type { DumpStore } from "../database/dump-store.ts";
import { LIMITS } from "../model/limits.ts";
import { tableSection, type Part } from "../model/part.ts";
import type { Stage } from "../model/stage.ts";
import type { PlacedTable } from "../model/tables.ts";

/** Reads tables one after the other, a page at a time, in the order of their keys. */
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
      const { at, after } = readPosition(position);
      const placed = tables[at];
      if (placed === undefined) return { next: undefined };
      const { table, key, shard } = placed;
      const dump = dumps[shard]!;
      const shape = await dump.shape(table);
      const { rows, atEnd } = await dump.page(table, shape, after);
      const written = await writeParts(parts, tableSection(key), rows, atEnd);
      const counted = (job.facts.tables[key]?.rows ?? 0) + written.lines;
      const facts = { tables: { ...job.facts.tables, [key]: { columns: shape.columns, rows: counted } } };
      const next = written.isAll && atEnd ? { at: at + 1, after: "" } : { at, after: written.lastKey };
      return {
        next: next.at === tables.length ? undefined : JSON.stringify(next),
        parts: written.parts,
        counts: { rows: written.lines, ...written.counts },
        facts,
      };
    },
  };
}

function readPosition(position: string): { readonly at: number; readonly after: string } {
  return position === "" ? { at: 0, after: "" } : (JSON.parse(position) as { at: number; after: string });
}

/**
 * Writes lines as parts whose ends depend only on the rows (`splitLines`). Lines after the last end wait for the next
 * page, unless the table ends or the page has no end.
 */
export async function writeParts(store: PartStore, section: string, lines: readonly Line[], atEnd: boolean) {
  const split = splitLines(lines, LIMITS.rowsPerPart);
  const whole =
    split.rest.length > 0 && (atEnd || split.parts.length === 0) ? [...split.parts, split.rest] : split.parts;
  const written: { readonly part: Part; readonly isNew: boolean }[] = [];
  for (let at = 0; at < whole.length; at += LIMITS.parallel) {
    const some = whole.slice(at, at + LIMITS.parallel);
    written.push(
      ...(await Promise.all(
        some.map((part) =>
          store.put(
            section,
            part.map(({ text }) => text),
          ),
        ),
      )),
    );
  }
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
