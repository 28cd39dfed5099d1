import type { ClientAccess } from "../../http/callers/auth.ts";
import type { AttemptError } from "../../platform/delivery/response.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import type { Log } from "../../platform/runtime/log.ts";
import type { Names } from "../../platform/model/names.ts";
import type { Random } from "../../platform/runtime/random.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { PushStore } from "./record/push-store.ts";

/** Dependencies of deliveries; made in wiring/events.ts. */
export interface PushPorts {
  readonly names: Names;
  readonly log: Log;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly store: PushStore;
  readonly clients: ClientAccess;
  readonly meter: Meter;
  readonly tracing: Tracing;
  /** Allow endpoints on this machine, even by plain http. */
  readonly allowLoopback: boolean;
  /** True during maintenance: nothing is sent. */
  readonly maintenance?: boolean;
}

/** Parameters of `open`; they never change. */
export interface PushOpening {
  /** The id of the record in D1. */
  readonly id: string;
  readonly topic: TopicAddress;
}

/** `gone`: the topic no longer exists. */
export type OpenOutcome = { readonly kind: "open" } | { readonly kind: "gone" };

/**
 * - `pending`: not tried yet, being sent, or waiting for its next attempt.
 * - `delivered`: the endpoint responded 2xx in time.
 * - `dead`: every attempt failed. Kept with its event, so that it can be redelivered.
 */
export const DELIVERY_STATES = ["pending", "delivered", "dead"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One attempt, with the status of its response and, if the endpoint refused, the start of the body. */
export interface Attempt {
  readonly atMs: number;
  readonly durationMs: number;
  /** Status of the response, which may be Cloudflare's instead of the endpoint's; undefined without a response. */
  readonly status: number | undefined;
  /** Kind of failure; undefined on success. */
  readonly error: AttemptError | undefined;
  /** The `traceparent` of the publish, if it has spans. */
  readonly trace?: string | undefined;
  /** Start of the body of a refusal, at most `DELIVERY.saidBytes`; undefined if it is empty. */
  readonly said?: string | undefined;
}

/** `no_challenge`: 2xx without the challenge in the body. */
export type HandshakeError = AttemptError | "no_challenge";

/** Progress of the handshake. */
export interface HandshakeStatus {
  readonly attempts: number;
  readonly lastError: HandshakeError | undefined;
  /** Undefined if the endpoint is not pinged again. */
  readonly nextAttemptAtMs: number | undefined;
}

/** The delivery of an event to the endpoint. */
export interface Delivery {
  readonly eventId: string;
  readonly state: DeliveryState;
  /** When the next attempt is due; undefined unless pending. */
  readonly nextAttemptAtMs: number | undefined;
  /** The latest attempts, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Number of all attempts. */
  readonly attemptCount: number;
}

/** A delivery with the text that its attempts send; `text` is undefined if neither it nor the topic has the event. */
export interface DeliveryReport {
  readonly delivery: Delivery;
  readonly text: string | undefined;
}

/** Deliveries in the order in which they were taken from the topic, the latest first. */
export interface DeliveryPage {
  readonly items: readonly Delivery[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: number | undefined;
}

export interface PushStatus {
  /** Events of the topic that were not taken yet, plus pending deliveries. */
  readonly lag: number;
  readonly deadLetters: number;
  /** Events that retention removed before they were taken or tried. */
  readonly eventsLost: number;
  /** Time until which nothing is sent, because the endpoint asked for it or did not respond for a while. */
  readonly pausedUntilMs: number | undefined;
  /** Undefined if no endpoint was pinged yet. */
  readonly handshake: HandshakeStatus | undefined;
  /** True if a pending event has failed several times. */
  readonly isFailing?: boolean;
}

/** Result of redelivering dead letters. */
export interface DeadAgain {
  readonly redelivered: number;
  /** There are more dead letters. */
  readonly more: boolean;
}

/** `expired`: neither the delivery nor the topic still has the event. */
export type RedeliverOutcome = "again" | "unknown" | "expired";

/** `busy`: another test is running, or the last one was less than a second ago. `gone`: there is no subscription. */
export type TestOutcome =
  | { readonly kind: "tried"; readonly attempt: Attempt }
  | { readonly kind: "busy"; readonly retryAfterMs: number }
  | { readonly kind: "gone" };
