import type { Deps } from "./deps.ts";
import { describeError } from "./platform/log.ts";

/**
 * The cron of wrangler.toml. A sweep that fails does not stop the others. All share the invocation's limit of calls to
 * D1, R2 and objects, so the sweeps with the most work come last.
 */
export async function runSchedule(deps: Deps, nowMs: number): Promise<void> {
  const sweeps = {
    outbox: () => deps.outbox.drain(),
    subscriptions: () => deps.events.wakeSubscriptions(),
    seals: () => deps.events.reseal(),
    oauthSeals: () => deps.oauth.reseal(),
    revocations: () => deps.oauth.sweep(nowMs),
    keys: () => deps.oauth.rotateKeys(nowMs),
    copies: () => deps.auditCopies.run(nowMs),
    audit: () => deps.audit.sweep(nowMs),
    topics: () => deps.events.sweep(nowMs),
    media: () => deps.media.sweep(nowMs),
  };
  for (const [name, sweep] of Object.entries(sweeps)) {
    try {
      await sweep();
    } catch (thrown) {
      deps.log.error("sweep failed", { sweep: name, error: describeError(thrown) });
    }
  }
}
