import { describeError, type Log } from "../../platform/runtime/log.ts";

/** Limits the requests of a caller. */
export interface RateLimit {
  /** Counts a request; false if it is one too many. */
  admits(key: string): Promise<boolean>;
}

/** The period of the limits in wrangler.toml. Its start is not known, so a caller waits for a whole one. */
export const RETRY_AFTER_SEC = 60;

export const unlimited: RateLimit = { admits: async () => true };

/**
 * A rate-limit binding of Cloudflare. Each location counts in memory, so a check costs next to nothing. If the binding
 * fails, all requests are admitted: passwords have a limit of their own.
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
