import type { Gone } from "../log/types.ts";
import type { NotLocked } from "../model/failure.ts";
import type { TopicAddress } from "../model/topic.ts";
export interface ReadRequest {
    readonly topic: TopicAddress;
    readonly consumer: string;
    readonly onlyTenant?: string | undefined;
    readonly numEvents: number;
    readonly ttlMs: number;
    readonly autoCommit: boolean;
    readonly key?: string | undefined;
}
export type ConsumerReadOutcome = {
    readonly kind: "batch";
    readonly events: string;
    readonly token: string | undefined;
    readonly attempt: number;
    readonly lost: number;
} | {
    readonly kind: "empty";
    readonly more: boolean;
    readonly lost: number;
} | {
    readonly kind: "locked";
    readonly retryAfterMs: number;
} | {
    readonly kind: "key_used";
} | Failed | Gone;
export type LockOutcome = {
    readonly kind: "done";
} | {
    readonly kind: "not_locked";
    readonly why: NotLocked;
} | {
    readonly kind: "never_read";
} | {
    readonly kind: "not_in_batch";
};
export type SeekOutcome = {
    readonly kind: "done";
} | {
    readonly kind: "locked";
    readonly retryAfterMs: number;
} | Failed | Gone;
interface Failed {
    readonly kind: "failed";
}
