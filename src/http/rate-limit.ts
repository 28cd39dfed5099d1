import { describeError, type Log } from "../platform/log.ts";

/** How many requests one caller may make. */
export interface RateLimit {
  /** Counts one; false: it is one too many. */
  admits(key: string): Promise<boolean>;
}

/** The period of the limits in wrangler.toml. When it began is not known, so a caller waits for a whole one. */
export const RETRY_AFTER_SEC = 60;

export const unlimited: RateLimit = { admits: async () => true };

/**
 * A rate-limit binding: each Cloudflare location counts for itself, in memory, so asking costs nothing to speak of. One
 * that fails stops nobody: passwords have a limit of their own.
 */
export function createRateLimit(
  binding: { limit(by: { key: string }): Promise<{ success: boolean }> },
  log: Log,
): RateLimit {
  return {
    async admits(key) {
      try {
        return (await binding.limit({ key })).success;
      } catch (thrown) {
        log.error("rate limit unknown", { error: describeError(thrown) });
        return true;
      }
    },
  };
}
