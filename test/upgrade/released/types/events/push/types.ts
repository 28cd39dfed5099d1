import type { TopicAddress } from "../model/topic.ts";
export interface PushOpening {
    readonly id: string;
    readonly topic: TopicAddress;
}
export type OpenOutcome = {
    readonly kind: "open";
} | {
    readonly kind: "gone";
};
export declare const DELIVERY_STATES: readonly ["pending", "delivered", "dead"];
export type DeliveryState = (typeof DELIVERY_STATES)[number];
export interface Attempt {
    readonly atMs: number;
    readonly durationMs: number;
    readonly status: number | undefined;
    readonly error: AttemptError | undefined;
}
export type AttemptError = "status" | "timeout" | "unreachable" | "redirect" | "refused";
export type HandshakeError = AttemptError | "no_challenge";
export interface HandshakeStatus {
    readonly attempts: number;
    readonly lastError: HandshakeError | undefined;
    readonly nextAttemptAtMs: number | undefined;
}
export interface Delivery {
    readonly eventId: string;
    readonly state: DeliveryState;
    readonly nextAttemptAtMs: number | undefined;
    readonly attempts: readonly Attempt[];
    readonly attemptCount: number;
}
export interface DeliveryPage {
    readonly items: readonly Delivery[];
    readonly next: number | undefined;
}
export interface PushStatus {
    readonly lag: number;
    readonly deadLetters: number;
    readonly eventsLost: number;
    readonly pausedUntilMs: number | undefined;
    readonly handshake: HandshakeStatus | undefined;
}
export type RedeliverOutcome = "again" | "unknown" | "expired";
export type TestOutcome = {
    readonly kind: "tried";
    readonly attempt: Attempt;
} | {
    readonly kind: "busy";
    readonly retryAfterMs: number;
} | {
    readonly kind: "gone";
};
