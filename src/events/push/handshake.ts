import type { Clock } from "../../platform/runtime/clock.ts";
import { randomId } from "../../platform/runtime/random.ts";
import { HANDSHAKE } from "../model/limits.ts";
import { BY_PLATFORM, pushAudit } from "./record/audit.ts";
import type { Eligibility, Target } from "./eligibility.ts";
import { attempt } from "./request.ts";
import { judge } from "../../platform/delivery/response.ts";
import type { Handshake, PushState } from "./state.ts";
import type { HandshakeStatus, PushPorts } from "./types.ts";

/**
 * The handshake: asks an endpoint whether it wants the events of a subscription made with `handshake: true`.
 *
 *   unverified ── ping, 2xx with the challenge in the body ────────────→ active: events in the logs are delivered
 *   unverified ── ping, any other answer or none ──────────────────────→ unverified, next ping after 5 s, 30 s, … 5 h
 *   unverified ── the last of seven pings failed, or any got a 410 ────→ failed: nothing is sent any more
 *   active ── an update moves the endpoint ────────────────────────────→ unverified
 *   unverified, failed ── any update ──────────────────────────────────→ unverified, with seven pings again
 *
 * The state is in the D1 record. The object stores the number of pings of one version. Each ping has its own challenge,
 * so a lost or repeated ping does no harm. A ping is counted before it is sent, so a crash uses one up. The outcome of
 * the last ping is kept until it is in D1. Until then, events stay in the logs after the subscription's start.
 */
export class PushHandshake {
  readonly #ports: PushPorts;
  readonly #clock: Clock;
  readonly #state: PushState;
  #stopped = false;

  constructor(ports: PushPorts, clock: Clock, state: PushState) {
    this.#ports = ports;
    this.#clock = clock;
    this.#state = state;
  }

  /** Ends all writes. */
  stop(): void {
    this.#stopped = true;
  }

  /** Time until which the record or the next ping blocks deliveries. */
  waitUntilMs(now: Eligibility): number {
    if (now.kind === "wait") return now.untilMs;
    return now.kind === "unverified" ? this.#dueMs(now.target.version) : 0;
  }

  /** When the next ping of this version is due. A time too far ahead means that the clock was set back: due at once. */
  #dueMs(version: number): number {
    const { dueAtMs, outcome } = this.#of(version);
    return outcome !== undefined || dueAtMs > this.#clock.nowMs() + HANDSHAKE.maxWaitMs ? 0 : dueAtMs;
  }

  status(): HandshakeStatus | undefined {
    const now = this.#state.handshake;
    if (now === undefined) return undefined;
    const { tries, lastError, dueAtMs, outcome } = now;
    return { attempts: tries, lastError, nextAttemptAtMs: outcome === undefined ? dueAtMs : undefined };
  }

  /** Pings the endpoint unless the outcome is known, and writes an outcome to D1. Throws if D1 does not answer. */
  async ask(target: Target): Promise<void> {
    const { version } = target;
    if (this.#of(version).outcome === undefined) await this.#ping(target);
    const { outcome, lastError } = this.#of(version);
    if (this.#stopped || outcome === undefined) return;
    const { store, log } = this.#ports;
    const record = await store.findById(this.#state.id);
    if (record === undefined) return;
    const why = outcome === "done" ? "the endpoint answered with the challenge" : `the endpoint did not: ${lastError}`;
    const row = pushAudit(record, "verify", BY_PLATFORM, this.#clock.nowMs(), why, ["state"]);
    if (outcome === "failed") log.warn("push endpoint not verified", { push: record.id, error: lastError });
    await store.verify(record.id, version, outcome, this.#clock.nowMs(), row);
  }

  async #ping(target: Target): Promise<void> {
    const ports = this.#ports;
    const { version } = target;
    const nowMs = this.#clock.nowMs();
    const { tries } = this.#of(version);
    const waitMs = HANDSHAKE.retryMs[tries];
    // Repeat the last ping if its outcome was not stored.
    const counted = { version, tries: tries + 1, dueAtMs: nowMs + (waitMs ?? HANDSHAKE.lastAgainMs) };
    this.#state.handshake = counted;
    const challenge = randomId(ports.random);
    const made = await attempt(
      { ...ports, clock: this.#clock },
      target,
      {
        eventId: `verify-${randomId(ports.random)}`,
        text: JSON.stringify({ type: "endpoint_verification", challenge }),
        number: counted.tries,
      },
      HANDSHAKE.maxAnswerBytes,
    );
    if (this.#stopped) return;
    const error = made.attempt.error ?? (proves(made.said, challenge) ? undefined : "no_challenge");
    const verdict = judge(made.answer, this.#clock.nowMs());
    const namedMs = verdict.kind === "later" ? verdict.atMs : 0;
    const isOver = waitMs === undefined || verdict.kind === "unwanted";
    this.#state.handshake = {
      ...counted,
      dueAtMs: Math.max(counted.dueAtMs, namedMs),
      lastError: error,
      ...(error === undefined ? { outcome: "done" } : isOver ? { outcome: "failed" } : {}),
    };
  }

  /** The pings of a version; none yet if it is not the stored one. */
  #of(version: number): Handshake {
    const stored = this.#state.handshake;
    return stored?.version === version ? stored : { version, tries: 0, dueAtMs: 0 };
  }
}

/** The body must be the challenge alone, or a JSON object with it. */
function proves(said: string, challenge: string): boolean {
  if (said.trim() === challenge) return true;
  try {
    return (JSON.parse(said) as { challenge?: unknown } | null)?.challenge === challenge;
  } catch {
    return false;
  }
}
