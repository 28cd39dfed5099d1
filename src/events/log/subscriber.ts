/** To the log that wakes it: `gone` means that there is no such subscription any more, so it need not be woken again. */
export type WakeOutcome = "awake" | "gone";

/** What a log knows of a push subscription's object. */
export interface Subscriber extends Rpc.DurableObjectBranded {
  wake(): WakeOutcome;
}
