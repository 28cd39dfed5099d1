import { inParallel, mapInParallel } from "../../platform/runtime/parallel.ts";
import type { Manifest } from "../bucket/manifest-store.ts";
import type { Finding } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { tableSection } from "../model/part.ts";
import type { ListedObject } from "../model/ports.ts";
import { Refused, placeIn, type Stage } from "../model/stage.ts";
import { keyOfObjects, OBJECT_TABLES } from "../model/tables.ts";
import type { StageDeps } from "./stage-deps.ts";
import { listedObjects, loadOf } from "./each-database.ts";
import { linesAt } from "./file-lines.ts";
import { readPart } from "./topic-walk.ts";

/**
 * Loads the rows of tenant objects, each into the object of the same number:
 *
 *   each object that the backup lists is made where it was, and is empty ──▶ the rows of the directory ──▶ their rows
 */
export function refuseWithoutObjects({ tenantObjects }: StageDeps, { tables }: Manifest): void {
  if (tenantObjects === undefined && (tables["tenant_object"]?.rows ?? 0) > 0)
    throw new Refused(
      "In the backup, tenants have objects of their own, and this deployment has none: set TENANT_OBJECTS, such as to asked:auto.",
    );
}

/**
 * Refuses objects with rows, and those of other tenants, before the first row is loaded. The first call of an object
 * makes it, near its tenant.
 */
export function checkObjects(deps: StageDeps): Stage {
  return {
    name: "empty_objects",
    async step({ position, lists, job }) {
      const section = tableSection("tenant_object");
      const page = await linesAt(section, LIMITS.tenantObjects, position, lists, ({ digest }) =>
        readPart(deps.parts, digest),
      );
      if (page === undefined) return { next: undefined };
      const columns = job.facts.tables["tenant_object"]?.columns ?? [];
      const listed = page.lines.map((line) => listedIn(JSON.parse(line) as unknown[], columns));
      await inParallel(listed, LIMITS.parallel, async ({ number, tenant, near }) => {
        deps.tenantObjects!.place(number, near);
        const load = loadOf(deps, number);
        const filled = await load.filled(OBJECT_TABLES);
        if (filled.length > 0)
          throw new Refused(
            `A restore needs empty objects, and there are rows in ${filled.join(", ")} of tenant object ${number}.`,
          );
        if (await load.isAnothers(tenant))
          throw new Refused(
            `In the backup, tenant ${tenant} has object ${number}, which is another tenant's here. Restore to a new deployment.`,
          );
      });
      return { next: page.next };
    },
  };
}

function listedIn(row: readonly unknown[], columns: readonly string[]): ListedObject & { readonly tenant: string } {
  const value = (name: string): unknown => row[columns.indexOf(name)];
  return {
    number: value("number") as number,
    tenant: value("tenant") as string,
    near: value("near") as ListedObject["near"],
  };
}

/** Loads one table after the other, a part in each step: rows come after the rows that they refer to. */
export function loadObjectTables(deps: StageDeps): Stage {
  return {
    name: "tenant_objects",
    async step({ position, lists, job }) {
      const at = placeIn<PartPlace>(position, { table: 0, part: 0 });
      const table = OBJECT_TABLES[at.table];
      if (table === undefined) return { next: undefined };
      const key = keyOfObjects(table);
      const [part] = lists.partsOf(tableSection(key), at.part, 1);
      if (part === undefined) return { next: JSON.stringify({ table: at.table + 1, part: 0 } satisfies PartPlace) };
      const lines = await readPart(deps.parts, part.digest);
      const [, ...columns] = job.facts.tables[key]?.columns ?? [];
      const rows = Map.groupBy(lines.map(splitLine), ({ number }) => number);
      await inParallel([...rows], LIMITS.parallel, ([number, some]) =>
        loadOf(deps, number).load([{ table, columns, rows: some.map(({ row }) => row) }]),
      );
      const next: PartPlace = { ...at, part: part.number + 1 };
      return { next: JSON.stringify(next), counts: { rows: lines.length } };
    },
  };
}

/** The number of a table, and that of a part in the list. */
interface PartPlace {
  readonly table: number;
  readonly part: number;
}

/** The number of an object, and the row there. The row stays text, so that no integer loses digits. */
function splitLine(line: string): { readonly number: number; readonly row: string } {
  const end = line.indexOf(",");
  return { number: Number(line.slice(1, end)), row: `[${line.slice(end + 1)}` };
}

/** Reports rows that were left out, as of shards. */
export function countObjectTables(deps: StageDeps): Stage {
  return {
    name: "tenant_object_totals",
    async step({ position, job }) {
      const at = placeIn<Counted>(position, { after: 0, rows: OBJECT_TABLES.map(() => 0) });
      const numbers = await listedObjects(deps, at.after);
      if (numbers.length > 0) {
        const asked = OBJECT_TABLES.map((table) => ({ table, last: undefined }));
        const counts = await mapInParallel(numbers, LIMITS.parallel, (number) => loadOf(deps, number).counts(asked));
        const rows = at.rows.map((sum, table) => counts.reduce((all, of) => all + of[table]!, sum));
        return { next: JSON.stringify({ after: numbers.at(-1)!, rows } satisfies Counted) };
      }
      const lost = OBJECT_TABLES.map((table, index) => ({
        key: keyOfObjects(table),
        rows: (job.facts.tables[keyOfObjects(table)]?.rows ?? 0) - at.rows[index]!,
      })).filter(({ rows }) => rows > 0);
      return {
        next: undefined,
        counts: { rows: -lost.reduce((sum, { rows }) => sum + rows, 0) },
        findings: lost.map(({ key, rows }): Finding => ({ kind: "row_dropped", subject: `${key}: ${rows}` })),
      };
    },
  };
}

/** The rows that were found so far, by table. */
interface Counted {
  readonly after: number;
  readonly rows: readonly number[];
}
