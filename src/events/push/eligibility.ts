import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { DELIVERY } from "../model/limits.ts";
import { BY_PLATFORM, pushAudit } from "./record/audit.ts";
import { openCredentials, type PreviousSecret } from "./record/credentials.ts";
import type { PushRecord, Trouble } from "./record/record.ts";
import type { PushState } from "./state.ts";
import type { PushPorts } from "./types.ts";

/** Endpoint and credentials of deliveries. */
export interface Target {
  readonly version: number;
  readonly endpoint: string;
  readonly username: string;
  readonly password: string;
  readonly signingSecret: string;
  readonly previous: readonly PreviousSecret[];
  /** The tenant that the subscription was created in; empty if unknown. */
  readonly tenant: string;
}

/**
 * Result of the check whether events may be sent now.
 * - `wait`: the subscription is disabled, its handshake failed, its right is missing, or its record or credentials
 *   cannot be read. Nothing is sent and nothing is lost. Check again at `untilMs` or after a change.
 * - `unverified`: the endpoint must first confirm that it wants the events (handshake.ts).
 * - `gone`: the subscription does not exist.
 */
export type Eligibility =
  | { readonly kind: "go" | "unverified"; readonly target: Target }
  | { readonly kind: "wait"; readonly untilMs: number }
  | { readonly kind: "gone" };

/**
 * The record in D1 and whether its right still holds, cached for 10 s. While D1 does not answer, a positive result of
 * the last minute counts.
 */
export class PushEligibility {
  readonly #ports: PushPorts;
  readonly #clock: Clock;
  readonly #state: PushState;
  #known: Known | undefined;
  /** The last result that allowed sending. */
  #lastGo: Known | undefined;
  #loading: Promise<Eligibility | undefined> | undefined;
  #generation = 0;
  /** The trouble that the record names, as of the last read. Undefined while another is being reported. */
  #reported: { readonly trouble: Trouble | undefined; readonly isHalted: boolean } | undefined;

  constructor(ports: PushPorts, clock: Clock, state: PushState) {
    this.#ports = ports;
    this.#clock = clock;
    this.#state = state;
  }

  /** Checks whether events may be sent now. Reads the record again if it changed while the query was running. */
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

  /** Drops the cached record after a change, and the result of a query that is running. */
  forget(): void {
    this.#generation += 1;
    this.#known = undefined;
    this.#lastGo = undefined;
  }

  /** Stops deliveries of this version after a 410. The next read of the record disables it in D1. */
  disable(version: number): void {
    const { health } = this.#state;
    if (version !== health.version) return;
    this.#state.health = { ...health, unwanted: true };
    this.forget();
  }

  /** Target of a test, in any state and without checking rights; undefined if the subscription does not exist. */
  async target(): Promise<Target | undefined> {
    const record = await this.#ports.store.findById(this.#state.id);
    return record === undefined ? undefined : this.#open(record);
  }

  /**
   * Reports trouble with deliveries or with the right in the record, if it says something else. A failure is only
   * logged: the next run that reads the record reports again.
   */
  async report(inDeliveries: boolean): Promise<void> {
    const { id } = this.#state;
    const reported = this.#reported;
    if (reported === undefined) return;
    const trouble = reported.isHalted ? "right" : inDeliveries ? "deliveries" : undefined;
    if (trouble === reported.trouble) return;
    this.#reported = undefined;
    try {
      await this.#ports.store.report(id, trouble);
      // The record may have been read meanwhile.
      this.#reported ??= { ...reported, trouble };
    } catch (thrown) {
      this.#ports.log.warn("push trouble not reported", { push: id, error: describeError(thrown) });
    }
  }

  /** Reads the record. Undefined if it changed during the query. */
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
    const found = await store.forDelivery(id, nowMs);
    const freshUntilMs = Math.min(nowMs, found?.asOfMs ?? nowMs) + DELIVERY.recordTtlMs;
    const waitFor = (waitMs: number, fresh = freshUntilMs): Omit<Known, "atMs"> => ({
      eligibility: { kind: "wait", untilMs: nowMs + waitMs },
      freshUntilMs: fresh,
    });
    const record = await this.#unlessUnwanted(found, nowMs);
    this.#reported = record && { trouble: record.trouble, isHalted: record.halt !== undefined };
    // A record that was never seen may not be inserted yet.
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

  /** After a 410, disables this version in D1 unless that is done, and reads the record again. */
  async #unlessUnwanted(record: PushRecord | undefined, nowMs: number): Promise<PushRecord | undefined> {
    const { version, unwanted } = this.#state.health;
    if (unwanted === undefined || record?.version !== version || record.state !== "active") return record;
    const row = pushAudit(record, "disable", BY_PLATFORM, nowMs, "the endpoint answered 410");
    const { store } = this.#ports;
    await store.disable(record.id, version, nowMs, row);
    return store.findById(record.id);
  }

  async #open(record: PushRecord): Promise<Target> {
    const { password, signingSecret, previous = [] } = await openCredentials(this.#ports.sealer, record);
    const { version, endpoint, username, made } = record;
    return { version, endpoint, username, password, signingSecret, previous, tenant: made?.tenant ?? "" };
  }
}

/** A cached result. It is fresh only from `atMs` on, so that a clock that is set back expires it. */
interface Known {
  readonly eligibility: Eligibility;
  readonly atMs: number;
  readonly freshUntilMs: number;
}
