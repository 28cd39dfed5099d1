import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../platform/runtime/clock.ts";

/** Limits of the media service. Those marked "promised" are part of the interface; the others may change. */
export const LIMITS = {
  /** Promised. */
  uploadLinkTtlMs: HOUR_MS,
  /** Promised. */
  contentLinkTtlMs: 15 * MINUTE_MS,
  /** The hour of the link, and an hour for uploads that began before it ended. A lifecycle rule deletes later ones. */
  lateUploadMs: 2 * HOUR_MS,
  /** Promised. */
  uncommittedTtlMs: DAY_MS,
  /** Private pending files of one client in one tenant, and as many public ones. */
  pendingFilesPerClient: 10_000,
  /** Promised. */
  publicMaxAgeSec: 300,
  /** The largest content that is copied into the edge cache, and the most that an isolate (128 MB) copies at a time. */
  edgeCopyMaxBytes: 8 * 1024 * 1024,
  edgeCopyBytesAtOnce: 32 * 1024 * 1024,
  /** After this time, a copy counts no longer against `edgeCopyBytesAtOnce`. */
  edgeCopyMs: 60_000,
  /** Lifetime of an invalidation marker. It outlives every copy that began before it. */
  edgeMarkerSec: 330,
  /** RFC 9110 section 14.2: many ranges are a mistake or an attack. */
  rangesPerRequest: 10,
  /** Metadata is read and compared as a whole, and a D1 row holds at most 2 MB. */
  metadataMaxBytes: 64 * 1024,
  /** Uploads up to this size are held in memory, as JSON bodies are, which costs less than to pass a stream on. */
  shortUploadBytes: 64 * 1024,
  /** A form with a file and its metadata is held in memory as a whole. */
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
  /** Each frame counts as at least this many pixels, because some work does not depend on its size. */
  gifFrameMinPixels: 16_384,
  /** The work pauses after about a tenth of a second, so that the isolate can serve other requests. */
  gifPixelsPerPause: 1_000_000,
  /** A gif without progress for this time was cancelled with its request. */
  gifLeaseMs: 60_000,
  /**
   * Memory for the one gif that an isolate (128 MB) transforms: its bytes, its pixels, the result, and the frame that
   * is being written, up to 20 MiB.
   */
  gifMaxBytes: 12 * 1024 * 1024,
  gifMaxMemoryBytes: 64 * 1024 * 1024,
  gifMaxResultBytes: 16 * 1024 * 1024,
  /** The same number as `transformationsPerBulk`. */
  variantsPerRequest: 100,
  /** Promised. */
  transformationsPerBulk: 100,
  /** Limits the list of variants and the work of deleting a file. */
  variantsPerFile: 100,
  /** Promised: the number of a file's attributes that are indexed, and the bytes of each key and value. */
  indexedPairs: 64,
  indexedBytes: 256,
  /** Pairs of key and value of one file. Each pair beyond the index takes 23 bytes of a text that queries search. */
  pairsPerFile: 2500,
  /**
   * A listing reads metadata up to `shortMetadataBytes` with the page. It reads longer metadata in parts of
   * `metadataPartBytes`, one at a time, because an isolate of 128 MB holds each part several times over.
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
  /** Bytes of a master that are read to find its dimensions. The first length suffices for nearly all images. */
  headerReadBytes: [64 * 1024, 4 * 1024 * 1024],
  /** Queues: messages of one batch. */
  messagesPerSend: 100,
  /** R2: keys of one delete. */
  keysPerDelete: 1000,
  /** Repeats of a commit if others upload or commit the file at the same time. */
  commitRounds: 5,
  /** A copy of some GiB inside R2 takes minutes. */
  copyTimeoutMs: 5 * MINUTE_MS,
  /** A message counts as lost after this time and is sent again. Longer than all its retries together. */
  variantResendMs: 15 * MINUTE_MS,
  /** An attempt at a variant that has not ended by then has failed: something that it needs does not answer. */
  attemptMs: 2 * MINUTE_MS,
  /** After one of these, others fail at once for `pauseMs`; the next get `trialMs` (variants/patience.ts). */
  pauseMs: 2 * MINUTE_MS,
  trialMs: 30_000,
  /** From its request on, a variant waits so long for an end of an outage. Some deployments never get an image made. */
  variantOutageMs: 7 * DAY_MS,
  /**
   * Variants of a tenant that have a message at a time, as many as a bulk request starts. More would make others wait;
   * fewer would leave consumers idle if one tenant alone has variants.
   */
  sentPerLane: 100,
  /** A release that knows no turns sends a variant that waits after this time. */
  variantWaitMs: 6 * HOUR_MS,
  /** Variants that wait, and that one statement postpones: in each `variantWaitMs`, more than a million. */
  rowsPerPostponement: 4_000,
  /** The same time for long work. No step takes so long. */
  workResendMs: 15 * MINUTE_MS,
  /** A step of long work, or a page of a sweep, that has not ended by then has failed: others go on. */
  stepMs: 3 * MINUTE_MS,
  /**
   * After this time, no request or job that began before a file's removal can still write its bytes. Upload links have
   * `uncommittedTtlMs`, which is longer than a link and an upload last.
   */
  lastWriteMs: HOUR_MS,
  /** Delay before the next proof of a file that still had bytes in the last one. */
  verifyAgainMs: HOUR_MS,
  /** Reports of deletions are kept for this time. */
  erasureKeptMs: 400 * DAY_MS,
  /**
   * Files of one step of a deletion that need requests to the bucket: three lists, or up to eleven heads
   * (`namedPlaces` and three more). An invocation may run four steps.
   */
  erasePage: 100,
  /**
   * Files of a page whose bytes the rows name, since one call deletes a thousand keys; and pages of one step in which
   * no file needs requests of its own.
   */
  eraseRows: 500,
  erasePages: 5,
  /** A proof asks for up to this number of renditions one by one: a list costs as much as twelve heads. */
  namedPlaces: 8,
  /** Rows of an index, or old reports, that one statement deletes. */
  rowsPerDelete: 1000,
  consistency: {
    /** Keys and rows of one step. */
    pageKeys: 1000,
    /** Suspects of one step. Each needs a head in R2. */
    suspects: 200,
    /** Findings of one step of a repair. */
    repairs: 100,
    /** Findings that a run stores. */
    keptFindings: 10_000,
    /** A younger object may belong to work in progress: no copy, job or upload takes so long from bytes to row. */
    youngMs: 15 * MINUTE_MS,
    /** A step is sent again after this time, which is longer than all retries of a message. */
    stalledMs: 15 * MINUTE_MS,
    /** Reports are kept as long as the audit log. */
    keptMs: 90 * DAY_MS,
  },
  /** A caller is told to ask again after this time for a variant that is being made. */
  variantRetryAfterSec: 2,
  /** Messages that an invocation works on at a time. Each image may hold two parts in memory. */
  parallelJobs: 4,
  /**
   * Rows of one page of the sweep, and pages of each kind in one run. D1 allows 1000 queries in one invocation, which
   * other sweeps share; a page makes at most six calls, and one to each other shard for files that moved. R2 gets up to
   * eleven requests for each file (`namedPlaces` and three more), and one for every thousand keys.
   */
  sweepRows: 100,
  sweepPages: 5,
  /**
   * Variants of one page. After an outage, those that had a message wait for the sweep, up to `sentPerLane` of each
   * tenant, and a page of any length costs two statements and a call of the queue for each hundred.
   */
  variantRows: 1_000,
  /** If a sweep leaves removed files, the queue works on them for this time, which is less than the cron's period. */
  removedWorkMs: 4.5 * MINUTE_MS,
  /** The longest wait of long work that failed in every attempt, and how long its failures are remembered. */
  deadWork: { mostMs: DAY_MS, keptMs: 7 * DAY_MS },
  parallelLists: 6,
} as const;
