import type { ClientAccess } from "../../http/auth.ts";
import type { Log } from "../../platform/log.ts";
import type { Names } from "../../platform/names.ts";
import type { Random } from "../../platform/random.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { PushStore } from "./push-store.ts";

/** What delivering takes besides the object itself; made in deps.ts. */
export interface PushPorts {
  readonly names: Names;
  readonly log: Log;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly store: PushStore;
  readonly clients: ClientAccess;
  /** Endpoints on hosts of this machine, plain http included (contract 1.1). */
  readonly allowLoopback: boolean;
}

/** What a subscription's object is told when it is made: nothing of it changes afterwards. */
export interface PushOpening {
  /** The id of the record in D1. */
  readonly id: string;
  readonly topic: TopicAddress;
}

/** `gone`: the topic is. */
export type OpenOutcome = { readonly kind: "open" } | { readonly kind: "gone" };

/**
 * - `pending`: not tried yet, under way, or waiting for its next attempt.
 * - `delivered`: the endpoint answered 2xx in time.
 * - `dead`: every attempt failed; kept with its event, to be delivered again on request.
 */
export const DELIVERY_STATES = ["pending", "delivered", "dead"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One attempt. Nothing of what the endpoint said is kept but the status. */
export interface Attempt {
  readonly atMs: number;
  readonly durationMs: number;
  /** Of the answer, which may be Cloudflare's in the endpoint's place; undefined when none came. */
  readonly status: number | undefined;
  /** Why it failed, in one of our own words; undefined when it did not. */
  readonly error: AttemptError | undefined;
}

/**
 * `status`: an answer that is not 2xx. `timeout`: none in time. `unreachable`: no connection, or it broke.
 * `redirect`: 3xx, which is never followed. `refused`: the platform may not call this address (any more).
 */
export type AttemptError = "status" | "timeout" | "unreachable" | "redirect" | "refused";

/** `no_challenge`: 2xx, without the challenge in the body. */
export type HandshakeError = AttemptError | "no_challenge";

/** How far it is to ask the endpoint whether it wants the events. */
export interface HandshakeStatus {
  readonly attempts: number;
  readonly lastError: HandshakeError | undefined;
  /** Undefined when it is asked no more. */
  readonly nextAttemptAtMs: number | undefined;
}

/** An event on its way to the endpoint. */
export interface Delivery {
  readonly eventId: string;
  readonly state: DeliveryState;
  /** When the next attempt is due; undefined unless pending. */
  readonly nextAttemptAtMs: number | undefined;
  /** The latest ones, the first of them first. */
  readonly attempts: readonly Attempt[];
  /** How many there were in all. */
  readonly attemptCount: number;
}

/** Deliveries in the order in which they were taken from the topic, the latest first. */
export interface DeliveryPage {
  readonly items: readonly Delivery[];
  /** The cursor of the next page; undefined when this was the last. */
  readonly next: number | undefined;
}

export interface PushStatus {
  /** Events of the topic that were not taken yet, and deliveries that are pending. */
  readonly lag: number;
  readonly deadLetters: number;
  /** Events that retention removed before they were taken. */
  readonly eventsLost: number;
  /** Until when nothing is sent: the endpoint asked for it, or did not answer for a while. */
  readonly pausedUntilMs: number | undefined;
  /** Undefined while no endpoint was asked. */
  readonly handshake: HandshakeStatus | undefined;
}

/** `expired`: neither the delivery nor the topic has the event any more. */
export type RedeliverOutcome = "again" | "unknown" | "expired";

/** `busy`: another test is under way, or was a moment ago. `gone`: there is no such subscription. */
export type TestOutcome =
  | { readonly kind: "tried"; readonly attempt: Attempt }
  | { readonly kind: "busy"; readonly retryAfterMs: number }
  | { readonly kind: "gone" };
