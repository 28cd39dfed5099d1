export type NotLocked = "already_committed" | "lock_expired" | "unknown_token";
