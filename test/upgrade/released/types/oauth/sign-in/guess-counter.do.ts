import { DurableObject } from "cloudflare:workers";
import type { GuessKind } from "./guesses.ts";
export declare class GuessCounter extends DurableObject {
    admit(kind: GuessKind, account: string, waitMs: number): Promise<Place>;
    settle(kind: GuessKind, account: string, failed: boolean): void;
    alarm(): Promise<void>;
}
interface Place {
    readonly admitted: boolean;
    readonly allowedAtMs: number;
}
