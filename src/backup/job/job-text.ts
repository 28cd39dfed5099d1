import type { Facts, JobRecord, TableFacts } from "../model/job.ts";

/** `columns`: the place of the list in `columnLists`. Earlier releases stored the list itself. */
interface StoredTable extends Omit<TableFacts, "columns"> {
  readonly columns: number | readonly string[];
}
interface StoredJob extends Omit<JobRecord, "facts"> {
  readonly facts: Omit<Facts, "tables"> & {
    readonly tables: Readonly<Record<string, StoredTable>>;
    readonly columnLists?: readonly (readonly string[])[];
  };
}

/**
 * Returns the text of a job to store. A table has the same columns in every shard, so each list is in it once: with 256
 * shards, the lists of all tables take a megabyte, and each step stores the job.
 */
export function toJobText(job: JobRecord): string {
  const lists = new Map<string, { readonly at: number; readonly columns: readonly string[] }>();
  const placeOf = (columns: readonly string[]): number => {
    const key = columns.join();
    const known = lists.get(key) ?? { at: lists.size, columns };
    lists.set(key, known);
    return known.at;
  };
  const tables = mapTables<TableFacts, StoredTable>(job.facts.tables, (one) => ({
    ...one,
    columns: placeOf(one.columns),
  }));
  const columnLists = [...lists.values()].map(({ columns }) => columns);
  return JSON.stringify({ ...job, facts: { ...job.facts, tables, columnLists } } satisfies StoredJob);
}

export function fromJobText(text: string): JobRecord {
  const job = JSON.parse(text) as StoredJob;
  const { columnLists = [], ...facts } = job.facts;
  const tables = mapTables<StoredTable, TableFacts>(facts.tables, ({ columns, rows }) => ({
    columns: typeof columns === "number" ? (columnLists[columns] ?? []) : columns,
    rows,
  }));
  return { ...job, facts: { ...facts, tables } };
}

const mapTables = <A, B>(tables: Readonly<Record<string, A>>, map: (one: A) => B): Readonly<Record<string, B>> =>
  Object.fromEntries(Object.entries(tables).map(([key, one]) => [key, map(one)]));
