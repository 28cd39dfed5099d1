/** Our choice. A step stays far below the limits of an object's turn: memory 128 MB, some minutes, 10,000 calls. */
export const LIMITS = {
  /** Rows and characters of a page of a table. */
  pageRows: 1_000,
  pageChars: 2_000_000,
  /** Characters of rows that are bound to one statement: D1 takes 2 MB. */
  bindChars: 900_000,
  /** One key in so many ends a part, so a new row changes one part, and not all behind it. */
  rowsPerPart: 256,
  /** Parts of an index part. */
  indexLines: 500,
  objectsAStep: 20,
  eventChars: 1_000_000,
  listedObjects: 500,
  copiesAStep: 50,
  copyBytesAStep: 64 * 1024 * 1024,
  parallel: 6,
  indexedFiles: 100,
  countedOwners: 20,
  /** A run of steps; then the object's alarm begins the next. */
  runMs: 20_000,
  /** The alarm that finds a job whose object was stopped. It may be due while steps run, and then comes after them. */
  watchMs: 1_000,
  pauseMs: { first: 1_000, longest: 60_000 },
  backupsKept: 1_000,
} as const;
