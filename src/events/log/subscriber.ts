/**
 * Answer of a subscription to the log that wakes it. `gone`: it does not exist, and the log removes its entry.
 */
export type WakeOutcome = "awake" | "gone";

/** The part of a push subscription's object that a log uses. */
export interface Subscriber extends Rpc.DurableObjectBranded {
  wake(): WakeOutcome;
}
