import { MORE_KEY, type Condition, type IndexValue } from "../metadata/attributes.ts";
import type { FileCaller } from "../model/file.ts";
import { rarestCollectable, rowsPerCollected, type Counts } from "./plan.ts";

/**
 * Finds the files of an owner that meet all conditions of a query, by the index table `attribute`.
 *
 * The condition with the fewest files leads: its files are the candidates, and each candidate is tested for the other
 * conditions. So the cost grows with the rarest condition, not with the number of files. A file with more pairs than
 * the index takes has an index row under `#more`. It is a candidate of every query, and is also tested by the digests
 * in its record.
 *
 * Statements read the conditions from one JSON parameter, so twenty terms make them no longer than one term does. D1
 * limits a statement to 100 KB.
 */
export type FilterStore = ReturnType<typeof createFilterStore>;

/** The parameter `?1` of every statement that tests files, as JSON. */
export interface BoundFilter {
  readonly owner: number;
  readonly conditions: readonly Condition[];
  /** Index entries whose files are the candidates. */
  readonly candidates: readonly { readonly key: string; readonly value: IndexValue }[];
}

export type Selected =
  | {
      readonly kind: "selected";
      readonly ownerId: number;
      /** A `SELECT` of the ids, each once. Its `?1` is `parameter`. */
      readonly idsSql: string;
      readonly parameter: string;
    }
  | { readonly kind: "nothing" }
  | { readonly kind: "too_broad" };

/** A limit that no number of files reaches. */
export const EVERY_FILE = Number.MAX_SAFE_INTEGER;

/** If an owner has more key sets than this, a listing does not read them. */
export const MAX_KEY_SETS = 32;

/**
 * Returns the limits of successive counts. They grow, so a rare condition ends the count before common ones cost much.
 */
function countLimits(maxRows: number): number[] {
  const limits: number[] = [];
  for (let limit = 16; limit < maxRows; limit *= 4) limits.push(limit);
  return [...limits, maxRows + 1];
}

/**
 * SQL: the condition of ?4 with the fewest candidates, if they are fewer than `limit`. A limit above 16 must not exceed
 * the square root of `?5 * files`: with so many candidates, a walk over all files finds ?5 files with fewer reads than
 * collecting does.
 */
const rarestBelow = (limit: number): string => `CASE WHEN ${limit} <= 16 OR ${limit * limit} <= ?5 * owner.files THEN (
  SELECT CASE WHEN files < ${limit} THEN json_object('place', place, 'files', files) END FROM (
    SELECT condition.key AS place, min((
      SELECT count(*) FROM (
        SELECT 1 FROM json_each(condition.value, '$.values') AS wanted CROSS JOIN attribute AS has
        WHERE has.owner_id = owner.id AND has.key = condition.value ->> 'key' AND has.value = wanted.value
        UNION ALL SELECT 1 FROM attribute WHERE owner_id = owner.id AND key = '${MORE_KEY}'
        LIMIT ${limit}))) AS files
    FROM json_each(?4) AS condition)) END`;

/** ?1 to ?3 are the caller, ?4 the conditions, ?5 the number of wanted files. */
const countSql = (maxRows: number): string => `SELECT owner.id AS ownerId, owner.files,
  CASE WHEN json_array_length(?4) > 0 THEN coalesce(${countLimits(maxRows).map(rarestBelow).join(", ")}, NULL) END AS rarest,
  EXISTS (SELECT 1 FROM attribute WHERE owner_id = owner.id AND key = '${MORE_KEY}') AS hasMore,
  (SELECT count(*) FROM (SELECT 1 FROM key_set WHERE owner_id = owner.id LIMIT ${MAX_KEY_SETS + 1})) AS keySets
  FROM owner WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL`;

/**
 * SQL: the file meets the conditions. `file`, its record, is read only if files have more pairs than the index takes.
 */
export function meetsConditions(fileId: string, hasMore: boolean): string {
  const indexed = `SELECT 1 FROM json_each(condition.value, '$.values') AS wanted CROSS JOIN attribute AS has
    WHERE has.owner_id = ?1 ->> 'owner' AND has.key = condition.value ->> 'key' AND has.value = wanted.value
      AND has.file_id = ${fileId}`;
  const more = `SELECT 1 FROM json_each(condition.value, '$.digests') AS digest
    WHERE instr(file.unindexed_pairs, digest.value) > 0`;
  return `NOT EXISTS (SELECT 1 FROM json_each(?1, '$.conditions') AS condition
    WHERE NOT EXISTS (${indexed}) ${hasMore ? `AND NOT EXISTS (${more})` : ""})`;
}

/** SQL: each candidate that meets the conditions, once, in no order. */
export const matchingIds = (hasMore: boolean): string => `SELECT DISTINCT file.id
  FROM json_each(?1, '$.candidates') AS list CROSS JOIN attribute AS lead CROSS JOIN file
  WHERE lead.owner_id = ?1 ->> 'owner' AND lead.key = list.value ->> 'key' AND lead.value = list.value ->> 'value'
    AND ${meetsConditions("lead.file_id", hasMore)}
    AND file.id = lead.file_id AND file.owner_id = lead.owner_id AND file.state = 'committed'`;

/** Returns the parameter. `leading` is the condition whose files are the candidates. */
export function boundFilter(
  { ownerId, hasMore }: Counts,
  conditions: readonly Condition[],
  leading: Condition | undefined,
): BoundFilter {
  const { key = "", values = [] } = leading ?? {};
  return {
    owner: ownerId,
    candidates: [...values.map((value) => ({ key, value })), ...(hasMore ? [{ key: MORE_KEY, value: 1 }] : [])],
    // A candidate by `#more` may fail the leading condition, so that condition is tested too.
    conditions: hasMore ? conditions : conditions.filter((condition) => condition !== leading),
  };
}

export function createFilterStore(db: D1Database, rowBudget: number) {
  /**
   * Returns the counts from which a plan is chosen; undefined: the caller has no files. `budget` limits the rows that
   * collecting the files may read. No count exceeds what this budget allows, or what helps to find `wantedFiles` files.
   */
  async function count(
    { client, tenant, visibility }: FileCaller,
    conditions: readonly Condition[],
    budget: number,
    wantedFiles: number,
  ): Promise<Counts | undefined> {
    const maxRows = Math.floor(budget / rowsPerCollected(conditions, false));
    const row = await db
      .prepare(countSql(maxRows))
      .bind(client, tenant, visibility, JSON.stringify(conditions), wantedFiles)
      .first<CountRow>();
    if (row === null) return undefined;
    const rarest = row.rarest === null ? undefined : (JSON.parse(row.rarest) as Counts["rarest"]);
    return { ...row, rarest, hasMore: row.hasMore === 1 };
  }

  return {
    count,
    /**
     * Selects the files that meet all conditions, of which there must be one. `too_broad`: it would exceed the budget.
     */
    async select(caller: FileCaller, conditions: readonly Condition[]): Promise<Selected> {
      const counts = await count(caller, conditions, rowBudget, EVERY_FILE);
      if (counts === undefined) return { kind: "nothing" };
      const rarest = rarestCollectable(counts, conditions, rowBudget);
      if (rarest === undefined) return { kind: "too_broad" };
      const parameter = JSON.stringify(boundFilter(counts, conditions, rarest));
      return { kind: "selected", ownerId: counts.ownerId, idsSql: matchingIds(counts.hasMore), parameter };
    },
  };
}

interface CountRow extends Pick<Counts, "ownerId" | "files" | "keySets"> {
  /** JSON of `Counts["rarest"]`. */
  readonly rarest: string | null;
  readonly hasMore: 0 | 1;
}
