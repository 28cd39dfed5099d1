export type WakeOutcome = "awake" | "gone";
export interface Subscriber extends Rpc.DurableObjectBranded {
    wake(): WakeOutcome;
}
