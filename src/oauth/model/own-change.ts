import type { AuditRecord } from "../../platform/ports/audit.ts";
import type { AnyCall } from "./call.ts";

/** What a person changes of the own account, as the audit log has it. */
export interface OwnChange {
  readonly email: string;
  /** What happened: `change password`. */
  readonly action: string;
  /** The account if absent. */
  readonly subject?: string;
  readonly reason?: string;
}

export const ownChange = (
  { nowMs: atMs, requestId }: Pick<AnyCall, "nowMs" | "requestId">,
  { email, action, subject = `users/${email}`, reason = "" }: OwnChange,
): AuditRecord => ({ atMs, requestId, actor: `user ${email}`, action, subject, outcome: "done", reason });
