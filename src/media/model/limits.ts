/** Every limit of the media service, each with its source. */
export const LIMITS = {
  /** Contract 4.2: "for one hour". */
  uploadLinkTtlMs: 60 * 60_000,
  /** Contract 4.3: "valid 15 minutes". */
  contentLinkTtlMs: 15 * 60_000,
  /** Our own: the link's hour, and another one for uploads that began in it. What comes later the bucket forgets. */
  lateUploadMs: 2 * 60 * 60_000,
  /** Specification, Limits: uncommitted file lifetime. */
  uncommittedTtlMs: 24 * 60 * 60_000,
  /** Our own: files that a client, for one tenant, may have waiting for their commit; as many again of public ones. */
  pendingFilesPerClient: 10_000,
  /** Contract 4.3. */
  publicMaxAgeSec: 300,
  /** Our own: what is copied into the edge cache at most, and by one isolate at a time, which has 128 MB. */
  edgeCopyMaxBytes: 8 * 1024 * 1024,
  edgeCopyBytesAtOnce: 32 * 1024 * 1024,
  /** A copy that is not done by then counts for nothing any more. */
  edgeCopyMs: 60_000,
  /** How long a marker is kept that voids copies: longer than any copy begun before it counts. */
  edgeMarkerSec: 330,
  /** Our own, after RFC 9110 section 14.2: many ranges are a mistake or an attack. */
  rangesPerRequest: 10,
  /** Our own: metadata is read and compared whole, and a D1 row holds 2 MB. */
  metadataMaxBytes: 64 * 1024,
  /** Contract 4.6. */
  variantMaxSide: 5000,
  /** Contract 4.6. */
  masterMaxPixels: 100_000_000,
  /** Cloudflare Images, limits of transformations: "image dimension". */
  masterMaxSide: 12_000,
  /**
   * Our own, for gifs over all their frames: some ten seconds of work. Where the Images binding writes gifs neither this
   * nor what follows counts.
   */
  gifMaxPixels: 30_000_000,
  /** What a frame counts at least, for the work that does not depend on its pixels. */
  gifFrameMinPixels: 16_384,
  /** Our own: the isolate does other things after each tenth of a second or so. */
  gifPixelsPerPause: 1_000_000,
  /** Our own: a gif of whose work nothing is seen for so long was given up with its request. */
  gifLeaseMs: 60_000,
  /**
   * Our own transformer holds one gif in an isolate of 128 MB: its bytes, its pixels (`gifMaxMemoryBytes`), the result,
   * and the frame of it that is being written, up to 20 MiB.
   */
  gifMaxBytes: 12 * 1024 * 1024,
  gifMaxMemoryBytes: 64 * 1024 * 1024,
  gifMaxResultBytes: 16 * 1024 * 1024,
  /** Our own, after the specification's 100 transformations of a bulk query. */
  variantsPerRequest: 100,
  /** Specification, Limits: transformations per bulk query. */
  transformationsPerBulk: 100,
  /** Our own: bounds the list of variants and the work of removing a file. */
  variantsPerFile: 100,
  /** Contract 4.5: attributes of a file, and bytes of a value (and of a key), that are indexed. */
  indexedPairs: 64,
  indexedBytes: 256,
  /** Our own: pairs of key and value of one file. What is not indexed of them is searched by each query, as 23 bytes. */
  pairsPerFile: 2500,
  /**
   * Our own: metadata up to `shortMetadataBytes` is read with the page, longer one in parts of `metadataPartBytes`, of
   * which an isolate of 128 MB holds one at a time, several times over.
   */
  metadataPartBytes: 4 * 1024 * 1024,
  shortMetadataBytes: 4096,
  /** Contract 4.5. */
  queryTerms: 20,
  /** Our own: what one request may filter and sort by. */
  contentTypesPerRequest: 20,
  sortKeysPerRequest: 4,
  /** Our own: what common file systems allow. */
  fileNameMaxBytes: 255,
  contentTypeMaxChars: 255,
  /**
   * R2: the parts of a multipart upload are of one size, at least 5 MiB. One that comes without a length keeps about
   * two of them in memory: the chunks of a part, and the part that they are joined to.
   */
  partBytes: 5 * 1024 * 1024,
  /** How much of a master is read to find its dimensions: the first is enough for nearly all. */
  headerReadBytes: [64 * 1024, 4 * 1024 * 1024],
  /** Queues: a batch of messages to send. */
  messagesPerSend: 100,
  /** R2: keys of one delete. */
  keysPerDelete: 1000,
  /** Our own: how often a commit looks again when the file is uploaded anew, or committed by others, meanwhile. */
  commitRounds: 5,
  /** Our own: a copy inside R2 of some GiB takes its time. */
  copyTimeoutMs: 5 * 60_000,
  /** A message that is this late is taken for lost and sent again. Longer than all its retries together. */
  variantResendMs: 15 * 60_000,
  /** The same of long work: no step of it takes so long. */
  workResendMs: 15 * 60_000,
  /**
   * Our own: after this time no request or job that began before a file was removed can still write its bytes. Upload
   * links are for `uncommittedTtlMs`, which is longer than they live, and than an upload takes.
   */
  lastWriteMs: 60 * 60_000,
  /** When files that were written to during their last look are looked at again. */
  lookAgainMs: 60 * 60_000,
  /** Our own: how long the report of a deletion is kept. */
  erasureKeptMs: 400 * 24 * 60 * 60_000,
  /** Our own: files of one step of a deletion. Each costs up to three listings, and an invocation may run four steps. */
  erasePage: 100,
  /** Our own: rows of an index, or old reports, that are forgotten in one statement. */
  rowsPerDelete: 1000,
  /**
   * Our own, of the consistency report. Keys and rows of one step; places that it may look at again, each with a head in
   * R2; findings of one step of a repair; findings that a run keeps. What is younger than `youngMs` may be under way: no
   * copy, job or upload takes so long from its bytes to its row. A run that was not heard of for `stalledMs` is sent
   * again, longer than all retries of a message. Reports are kept as long as the audit log.
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
  /** Images made at a time in one isolate: each may hold two parts in memory. */
  parallelJobs: 4,
  /**
   * Our own: rows of one page of the sweep, and pages of files and of variants in one run. D1 takes 1000 statements from
   * one invocation, which other sweeps share: a page costs at most six, so a run less than sixty. R2 is asked once for
   * each file, and once for every thousand keys.
   */
  sweepRows: 100,
  sweepPages: 5,
  parallelLists: 6,
} as const;
