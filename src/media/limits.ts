/** Every limit of the media service, each with its source. */
export const LIMITS = {
  /** Contract 4.2: "for one hour". */
  uploadLinkTtlMs: 60 * 60_000,
  /** Contract 4.3: "valid 15 minutes". */
  contentLinkTtlMs: 15 * 60_000,
  /** Specification, Limits: uncommitted file lifetime. */
  uncommittedTtlMs: 24 * 60 * 60_000,
  /** Contract 4.3. */
  publicMaxAgeSec: 300,
  /** Our own: metadata is read and compared whole, and a D1 row holds 2 MB. */
  metadataMaxBytes: 64 * 1024,
  /** Contract 4.6. */
  variantMaxSide: 5000,
  /** Contract 4.6. */
  masterMaxPixels: 100_000_000,
  /** Our own, after the specification's 100 transformations of a bulk query. */
  variantsPerRequest: 100,
  /** Our own: bounds the list of variants and the work of removing a file. */
  variantsPerFile: 100,
  /** Our own: what common file systems allow. */
  fileNameMaxBytes: 255,
  contentTypeMaxChars: 255,
  /** R2: the parts of a multipart upload are of one size, at least 5 MiB. Also what one upload keeps in memory. */
  partBytes: 5 * 1024 * 1024,
  /** How much of a master is read to find its dimensions: the first is enough for nearly all. */
  headerReadBytes: [64 * 1024, 4 * 1024 * 1024],
  /** Queues: a batch of messages to send. */
  messagesPerSend: 100,
  /** R2: keys of one delete. */
  keysPerDelete: 1000,
  /** A message that is this late is taken for lost and sent again. Longer than all its retries together. */
  variantResendMs: 15 * 60_000,
  /** When a caller may ask again for a variant that is being made. */
  variantRetryAfterSec: 2,
  /** Images made at a time in one isolate: each may hold a part in memory. */
  parallelJobs: 4,
  /** Rows of one step of the sweep, and steps of one run. */
  sweepRows: 100,
  sweepSteps: 20,
  parallelPurges: 6,
} as const;
