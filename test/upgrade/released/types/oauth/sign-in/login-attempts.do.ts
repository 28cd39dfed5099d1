import { DurableObject } from "cloudflare:workers";
export type AttemptOutcome = {
    readonly kind: "ok";
} | {
    readonly kind: "wrong";
    readonly blockedFromNow: boolean;
} | {
    readonly kind: "blocked";
    readonly untilMs: number;
};
export declare class LoginAttempts extends DurableObject {
    attempt(passwordHash: string | undefined, password: string, device?: string): AttemptOutcome;
    unlock(): void;
    alarm(): Promise<void>;
}
