import type { Deps } from "./deps.ts";
import type { SweepName } from "./health/sweeps.ts";
import { attemptEach } from "./platform/runtime/attempt-each.ts";
import { describeError, summarize } from "./platform/runtime/log.ts";

/**
 * The cron of wrangler.toml. A sweep that fails does not stop the others. It fails the cron at the end, so that
 * Cloudflare shows it. Each run of a sweep writes a heartbeat. All sweeps share the invocation's limit of calls to D1,
 * R2 and objects, so those with the most work come last.
 */
export async function runSchedule(deps: Deps, nowMs: number): Promise<void> {
  const sweeps = {
    outbox: () => deps.outbox.drain(),
    logouts: () => deps.oauth.tellClients(),
    subscriptions: () => deps.events.wakeSubscriptions(nowMs),
    seals: () => deps.events.reseal(),
    oauthSeals: () => deps.oauth.reseal(),
    revocations: () => deps.oauth.sweep(nowMs),
    keys: () => deps.oauth.rotateKeys(nowMs),
    copies: async () => void (await deps.auditCopies.run(nowMs)),
    audit: () => deps.audit.sweep(nowMs),
    usage: () => deps.metrics.sample(nowMs),
    shards: () => deps.shards.sweep(nowMs),
    moves: () => deps.moves.sweep(),
    topics: () => deps.events.sweep(nowMs),
    media: () => deps.media.sweep(nowMs),
  } satisfies Record<SweepName, () => Promise<void>>;
  await attemptEach(
    Object.entries(sweeps),
    ([name, sweep]) => deps.http.tracing.child(`sweep ${name}`, {}, () => withHeartbeat(deps, name, sweep)),
    ([name], thrown) => deps.log.error("sweep failed", { sweep: name, error: describeError(thrown) }),
  );
}

/** Runs a sweep and writes its heartbeat. A heartbeat that is lost after a failure must not hide that failure. */
async function withHeartbeat(
  { clock, log, meter, heartbeats }: Deps,
  name: string,
  sweep: () => Promise<void>,
): Promise<void> {
  const atMs = clock.nowMs();
  const beat = (error?: string) => heartbeats.beat({ name, atMs, durationMs: clock.nowMs() - atMs, error });
  try {
    await sweep();
  } catch (thrown) {
    meter.add("sweeps_failed", { service: "platform", label: name });
    await beat(summarize(thrown)).catch((lost: unknown) =>
      log.error("heartbeat not written", { sweep: name, error: describeError(lost) }),
    );
    throw new Error(name, { cause: thrown });
  }
  await beat().catch((lost: unknown) => {
    throw new Error(`heartbeat of ${name}`, { cause: lost });
  });
}
