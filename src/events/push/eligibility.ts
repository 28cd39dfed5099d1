import type { Clock } from "../../platform/clock.ts";
import { describeError } from "../../platform/log.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { DELIVERY } from "../model/limits.ts";
import { BY_PLATFORM, pushAudit } from "./audit.ts";
import { openCredentials } from "./credentials.ts";
import type { PushRecord } from "./record.ts";
import type { PushState } from "./state.ts";
import type { PushPorts } from "./types.ts";

/** Where events go, and with what. */
export interface Target {
  readonly version: number;
  readonly endpoint: string;
  readonly username: string;
  readonly password: string;
  readonly signingSecret: string;
}

/**
 * Whether events may be sent now.
 * - `wait`: disabled, without the right by which it was made, without a key that opens the credentials, or not known. Nothing is
 *   sent and nothing is lost; to be looked at again at `untilMs`, or when it changes.
 * - `unverified`: the endpoint is to be asked first whether it wants them (handshake.ts).
 * - `gone`: there is no such subscription, or not any more.
 */
export type Eligibility =
  | { readonly kind: "go" | "unverified"; readonly target: Target }
  | { readonly kind: "wait"; readonly untilMs: number }
  | { readonly kind: "gone" };

/**
 * What the record in D1 says, and whether the right is there by which it was made, asked again when that is 10 s old. While
 * D1 does not answer, what it said less than a minute ago counts.
 */
export class PushEligibility {
  readonly #ports: PushPorts;
  readonly #clock: Clock;
  readonly #state: PushState;
  #known: Known | undefined;
  /** What D1 said last, if it let events go. */
  #lastGo: Known | undefined;
  #loading: Promise<Eligibility | undefined> | undefined;
  #generation = 0;

  constructor(ports: PushPorts, clock: Clock, state: PushState) {
    this.#ports = ports;
    this.#clock = clock;
    this.#state = state;
  }

  /** What is given was true when this returns: a change that came while D1 was asked makes it ask again. */
  async now(): Promise<Eligibility> {
    for (;;) {
      const nowMs = this.#clock.nowMs();
      const known = this.#known;
      if (known !== undefined && nowMs >= known.atMs && nowMs < known.freshUntilMs) return known.eligibility;
      this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
      const loaded = await this.#loading;
      if (loaded !== undefined) return loaded;
    }
  }

  /** The record changed: what was read before, or is being read, counts no more. */
  forget(): void {
    this.#generation += 1;
    this.#known = undefined;
    this.#lastGo = undefined;
  }

  /** The endpoint answered 410 to this version: nothing more is sent to it, and D1 is told. */
  disable(version: number): void {
    const { health } = this.#state;
    if (version !== health.version) return;
    this.#state.health = { ...health, unwanted: true };
    this.forget();
  }

  /** Where a test goes, whatever the state and the rights; undefined when there is no such subscription. */
  async target(): Promise<Target | undefined> {
    const record = await this.#ports.store.findById(this.#state.id);
    return record === undefined ? undefined : this.#open(record);
  }

  /** Undefined when a change came meanwhile. */
  async #load(): Promise<Eligibility | undefined> {
    const generation = this.#generation;
    const atMs = this.#clock.nowMs();
    let known: Known;
    try {
      known = { atMs, ...(await withTimeout(DELIVERY.recordWaitMs, this.#ask(atMs))) };
      if (generation === this.#generation) this.#lastGo = known.eligibility.kind === "go" ? known : undefined;
    } catch (thrown) {
      this.#ports.log.warn("push record not read", { push: this.#state.id, error: describeError(thrown) });
      known = this.#withoutAnswer();
    }
    if (generation !== this.#generation) return undefined;
    this.#known = known;
    return known.eligibility;
  }

  #withoutAnswer(): Known {
    const atMs = this.#clock.nowMs();
    const untilMs = atMs + DELIVERY.failedAgainMs;
    const last = this.#lastGo;
    const counts = last !== undefined && atMs >= last.atMs && atMs < last.atMs + DELIVERY.recordKeptMs;
    return { atMs, freshUntilMs: untilMs, eligibility: counts ? last.eligibility : { kind: "wait", untilMs } };
  }

  async #ask(nowMs: number): Promise<Omit<Known, "atMs">> {
    const { store, log } = this.#ports;
    const { id, openedAtMs, health } = this.#state;
    const freshUntilMs = nowMs + DELIVERY.recordTtlMs;
    const waitFor = (waitMs: number, fresh = freshUntilMs): Omit<Known, "atMs"> => ({
      eligibility: { kind: "wait", untilMs: nowMs + waitMs },
      freshUntilMs: fresh,
    });
    const record = await this.#unlessUnwanted(await store.findById(id), nowMs);
    // While it was never seen, it may still be on its way.
    if (record === undefined)
      return health.version === 0 && nowMs < openedAtMs + DELIVERY.openingMs
        ? waitFor(DELIVERY.missingAgainMs, nowMs)
        : { eligibility: { kind: "gone" }, freshUntilMs };
    if (record.state === "disabled" || record.state === "failed") return waitFor(DELIVERY.disabledAgainMs);
    if (record.halt !== undefined) return waitFor(DELIVERY.refusedAgainMs);
    try {
      const kind = record.state === "unverified" ? "unverified" : "go";
      return { eligibility: { kind, target: await this.#open(record) }, freshUntilMs };
    } catch (thrown) {
      log.error("push credentials do not open", { push: id, error: describeError(thrown) });
      return waitFor(DELIVERY.refusedAgainMs, nowMs + DELIVERY.refusedAgainMs);
    }
  }

  /** Tells D1 of a 410 to this version, unless it knows, and reads the record again. */
  async #unlessUnwanted(record: PushRecord | undefined, nowMs: number): Promise<PushRecord | undefined> {
    const { version, unwanted } = this.#state.health;
    if (unwanted === undefined || record?.version !== version || record.state !== "active") return record;
    const row = pushAudit(record, "disable", BY_PLATFORM, nowMs, "the endpoint answered 410");
    const { store } = this.#ports;
    await store.disable(record.id, version, nowMs, row);
    return store.findById(record.id);
  }

  async #open(record: PushRecord): Promise<Target> {
    const { password, signingSecret } = await openCredentials(this.#ports.sealer, record);
    const { version, endpoint, username } = record;
    return { version, endpoint, username, password, signingSecret };
  }
}

/** Fresh from `atMs` on: a clock that was set back makes it old. */
interface Known {
  readonly eligibility: Eligibility;
  readonly atMs: number;
  readonly freshUntilMs: number;
}
