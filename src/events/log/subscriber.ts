/**
 * Answer of a subscription to the log that wakes it: `gone` means that it no longer exists and need not be woken again.
 */
export type WakeOutcome = "awake" | "gone";

/** The part of a push subscription's object that a log uses. */
export interface Subscriber extends Rpc.DurableObjectBranded {
  wake(): WakeOutcome;
}
