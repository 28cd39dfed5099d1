/** Limits of a step, far below those of one alarm: 128 MB of memory, some minutes, 10,000 calls. */
export const LIMITS = {
  /** Rows and characters of a page of a table. */
  pageRows: 1_000,
  pageChars: 2_000_000,
  /** Small tables that one step reads, which share a page; and parts of tables that one step loads. */
  tablesAtOnce: 8,
  /** Characters of the rows that are bound to one statement. D1 accepts 2 MB. */
  bindChars: 900_000,
  /** Tenant objects of one step. The rows of a table in them are in parts of their own. */
  tenantObjects: 32,
  /** Characters of a table of a tenant object that is read with others. Six objects are read at once. */
  objectTableChars: 500_000,
  /** On average one row in so many ends a part. A new row then changes one part, and not all that follow. */
  rowsPerPart: 256,
  /** Parts that one index part lists. */
  indexLines: 500,
  objectsAStep: 20,
  listedObjects: 500,
  copiesAStep: 50,
  copyBytesAStep: 64 * 1024 * 1024,
  parallel: 6,
  countedOwners: 20,
  /** Rows of the tables that are counted at once. A larger table is counted alone. */
  countedRows: 200_000,
  /** The time for which one alarm does steps. Then it sets the next alarm. */
  runMs: 20_000,
  /** The alarm that resumes a job whose object was stopped. If it is due while steps run, it comes after them. */
  watchMs: 1_000,
  pauseMs: { first: 1_000, longest: 60_000 },
  backupsKept: 1_000,
  /** Manifests that one step removes: the most keys that R2 deletes at once. */
  removedAtOnce: 1_000,
  /** The time after which a call to R2 has taken effect or never will, if the object that made it was stopped. */
  lateCallMs: 60_000,
} as const;
