import { fillPage, PAGE_FORMAT } from "../platform/storage/object-import.ts";

/**
 * A store of metrics as pages, for backups: its packs in order. They are backed up since bills are made from them. An
 * import adds a page to the counts that the store has by then.
 */
export interface StorePage {
  readonly kind: "metrics";
  readonly format: number;
  readonly packs: readonly StoredPack[];
  /** The last pack of this page, after which the next page starts. Undefined on the last page. */
  readonly next: PackKey | undefined;
}

interface StoredPack extends Record<string, SqlStorageValue> {
  step: string;
  grp: number;
  at: number;
  counts: string;
}

export type PackKey = Pick<StoredPack, "step" | "grp" | "at">;

export function exportPacks(sql: SqlStorage, { step, grp, at }: PackKey): StorePage {
  const rows = sql.exec<StoredPack>(
    `SELECT step, grp, at, counts FROM pack WHERE (step, grp, at) > (?, ?, ?) ORDER BY step, grp, at`,
    step,
    grp,
    at,
  );
  const { page, isAll } = fillPage(rows, ({ counts }) => counts.length);
  const last = page.at(-1);
  const next = isAll || last === undefined ? undefined : { step: last.step, grp: last.grp, at: last.at };
  return { kind: "metrics", format: PAGE_FORMAT, packs: page, next };
}
