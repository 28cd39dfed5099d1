import type { AuditRecord } from "../../platform/ports/audit.ts";
import type { AnyCall } from "./call.ts";

/** A change that a person makes to the own account, for the audit log. */
export interface OwnChange {
  readonly email: string;
  /** The name of the change, such as `change password`. */
  readonly action: string;
  /** The account if absent. */
  readonly subject?: string;
  readonly reason?: string;
}

export const ownChange = (
  { nowMs: atMs, requestId }: Pick<AnyCall, "nowMs" | "requestId">,
  { email, action, subject = `users/${email}`, reason = "" }: OwnChange,
): AuditRecord => ({ atMs, requestId, actor: `user ${email}`, action, subject, outcome: "done", reason });
