/** Limits of the media service. Those marked "promised" are part of the interface; the others may change. */
export const LIMITS = {
  /** Promised. */
  uploadLinkTtlMs: 60 * 60_000,
  /** Promised. */
  contentLinkTtlMs: 15 * 60_000,
  /**
   * The hour of the link, and another one for uploads that began in it. The bucket's lifecycle rule deletes later ones.
   */
  lateUploadMs: 2 * 60 * 60_000,
  /** Promised. */
  uncommittedTtlMs: 24 * 60 * 60_000,
  /** Pending files of one client in one tenant; as many again of public ones. */
  pendingFilesPerClient: 10_000,
  /** Promised. */
  publicMaxAgeSec: 300,
  /** The largest content that is copied into the edge cache, and the most that an isolate (128 MB) copies at a time. */
  edgeCopyMaxBytes: 8 * 1024 * 1024,
  edgeCopyBytesAtOnce: 32 * 1024 * 1024,
  /** A copy that takes longer no longer counts against `edgeCopyBytesAtOnce`. */
  edgeCopyMs: 60_000,
  /** Lifetime of an invalidation marker: longer than a copy that began before it is fresh. */
  edgeMarkerSec: 330,
  /** RFC 9110 section 14.2: many ranges are a mistake or an attack. */
  rangesPerRequest: 10,
  /** Metadata is read and compared as a whole, and a row of D1 holds 2 MB. */
  metadataMaxBytes: 64 * 1024,
  /** A form with a file and its metadata is read whole. */
  formMaxBytes: 5 * 1024 * 1024,
  /** Promised. */
  variantMaxSide: 5000,
  /** Promised. */
  masterMaxPixels: 100_000_000,
  /** Cloudflare Images, limits of transformations: "image dimension". */
  masterMaxSide: 12_000,
  /**
   * Pixels of a gif in all its frames: about ten seconds of work. The limits of gifs do not apply where the Images
   * binding writes gifs.
   */
  gifMaxPixels: 30_000_000,
  /** A frame counts as at least this many pixels, for the work that does not depend on its size. */
  gifFrameMinPixels: 16_384,
  /** The isolate serves other requests after each tenth of a second or so. */
  gifPixelsPerPause: 1_000_000,
  /** A gif without progress for so long was cancelled with its request. */
  gifLeaseMs: 60_000,
  /**
   * Memory for the one gif that an isolate (128 MB) transforms: its bytes, its pixels, the result, and the frame that
   * is being written, up to 20 MiB.
   */
  gifMaxBytes: 12 * 1024 * 1024,
  gifMaxMemoryBytes: 64 * 1024 * 1024,
  gifMaxResultBytes: 16 * 1024 * 1024,
  /** As many as `transformationsPerBulk`. */
  variantsPerRequest: 100,
  /** Promised. */
  transformationsPerBulk: 100,
  /** Limits the list of variants and the work of deleting a file. */
  variantsPerFile: 100,
  /** Promised: attributes of a file that are indexed, and bytes of each key and value. */
  indexedPairs: 64,
  indexedBytes: 256,
  /** Pairs of key and value of one file. Those beyond the index are 23 bytes each in the text that queries search. */
  pairsPerFile: 2500,
  /**
   * Metadata up to `shortMetadataBytes` is read with the page; longer metadata in parts of `metadataPartBytes`, one at
   * a time, because an isolate of 128 MB holds each several times over.
   */
  metadataPartBytes: 4 * 1024 * 1024,
  shortMetadataBytes: 4096,
  /** Promised. */
  queryTerms: 20,
  /** Filters and sort keys of one request. */
  contentTypesPerRequest: 20,
  sortKeysPerRequest: 4,
  /** The limit of common file systems. */
  fileNameMaxBytes: 255,
  contentTypeMaxChars: 255,
  /**
   * Parts of a multipart upload have one size, at least 5 MiB. An upload without a length keeps about two parts in
   * memory: the chunks, and the part that they are joined to.
   */
  partBytes: 5 * 1024 * 1024,
  /** Bytes of a master that are read to find its dimensions. The first length is enough for nearly all images. */
  headerReadBytes: [64 * 1024, 4 * 1024 * 1024],
  /** Queues: messages of one batch. */
  messagesPerSend: 100,
  /** R2: keys of one delete. */
  keysPerDelete: 1000,
  /** Attempts of a commit whose file is uploaded again, or committed by others, at the same time. */
  commitRounds: 5,
  /** A copy of some GiB inside R2 takes long. */
  copyTimeoutMs: 5 * 60_000,
  /** A message counts as lost after this time and is sent again. Longer than all its retries together. */
  variantResendMs: 15 * 60_000,
  /** The same for long work. No step takes so long. */
  workResendMs: 15 * 60_000,
  /**
   * After this time, no request or job that began before a file's removal can still write its bytes. Upload links have
   * `uncommittedTtlMs`, which is longer than a link and an upload last.
   */
  lastWriteMs: 60 * 60_000,
  /** Delay of another proof for files that still had bytes in the last one. */
  verifyAgainMs: 60 * 60_000,
  /** Reports of deletions are kept for this time. */
  erasureKeptMs: 400 * 24 * 60 * 60_000,
  /** Files of one step of a deletion that ask the bucket, each up to three times; an invocation may run four steps. */
  erasePage: 100,
  /** Files of a page whose bytes the rows name: a thousand keys are one call. Pages of one step, if none asks. */
  eraseRows: 500,
  erasePages: 5,
  /** Renditions that a proof asks for one by one: a listing costs as much as twelve of these. */
  namedPlaces: 8,
  /** Rows of an index, or old reports, that one statement deletes. */
  rowsPerDelete: 1000,
  /**
   * The consistency report: keys and rows of one step; suspects of one step, each with a head in R2; findings of one
   * step of a repair; findings that a run stores. An object younger than `youngMs` may belong to work in progress: no
   * copy, job or upload takes so long from bytes to row. After `stalledMs`, which is longer than all retries of a
   * message, a step is sent again. Reports are kept as long as the audit log.
   */
  consistency: {
    pageKeys: 1000,
    suspects: 200,
    repairs: 100,
    keptFindings: 10_000,
    youngMs: 15 * 60_000,
    stalledMs: 15 * 60_000,
    keptMs: 90 * 24 * 60 * 60_000,
  },
  /** When a caller may ask again for a variant that is being made. */
  variantRetryAfterSec: 2,
  /** Images that an isolate makes at a time. Each may hold two parts in memory. */
  parallelJobs: 4,
  /**
   * Rows of one page of the sweep, and pages of each kind in one run. D1 allows 1000 statements in one invocation,
   * which other sweeps share; a page costs at most six. R2 is asked once for each file, and once for every thousand
   * keys.
   */
  sweepRows: 100,
  /** A sweep that leaves removed files hands them to the queue until the next one. Less than the cron's period. */
  removedWorkMs: 4.5 * 60_000,
  /** The longest wait of long work that failed in every attempt, and how long its failures are remembered. */
  deadWork: { mostMs: 24 * 60 * 60_000, keptMs: 7 * 24 * 60 * 60_000 },
  sweepPages: 5,
  parallelLists: 6,
} as const;
