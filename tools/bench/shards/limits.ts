/**
 * Numbers for `simulate.ts` and `waits.ts`: limits that Cloudflare publishes, assumptions where it publishes none, and
 * counts of Plinth.
 */
export const PUBLISHED = {
  /** https://developers.cloudflare.com/d1/platform/limits/ */
  databaseBytes: 10e9,
  /** The same page; Cloudflare raises it on request. */
  databasesBytes: 1e12,
  /** The same page: an approximate number, for names of usual length. */
  bindings: 5_000,
  /** https://developers.cloudflare.com/durable-objects/platform/limits/ The storage of an account is unlimited. */
  objectBytes: 10e9,
  /** https://developers.cloudflare.com/durable-objects/reference/faq/ A soft limit. */
  objectRequestsPerSec: 1_000,
} as const;

export const ASSUMED = {
  /** D1 runs one query at a time; its page on limits says 1,000 a second for queries of a millisecond. */
  tripsPerSec: 700,
  /** Below 1, so that a query seldom waits. */
  utilization: 0.7,
  /** The share of a database that is filled, and the growth of indexes that were not filled in order. */
  fill: 0.8,
  disorder: 1.5,
  /** Locations of Cloudflare with callers; each reads revocations every 2 s (docs/operate/cost-and-scaling.md). */
  locations: 100,
  revocationsEverySec: 2,
  tenantsPerShard: 100,
  /** The load of tenants is log-normal: with 1.5, one in a hundred has 33 times the load of the middle one. */
  tenantSigma: 1.5,
} as const;

/** Round trips, counted by test/media and test/oauth (ARCHITECTURE.md, "What an operation may cost"). */
export const COUNTED = {
  /** Create, PUT, commit. All are in the tenant's shard, for a client whose records are in the isolate's cache. */
  upload: { shard: 3, directory: 0 },
  /** From the page to the redeemed code. The shard is the person's home, which may be the directory. */
  signIn: { shard: 2, directory: 2 },
  /** The rows of a file with three attributes (docs/operate/cost-and-scaling.md, "Stored"). */
  fileBytes: 868,
} as const;
