/** One line of the audit log. No field may contain a password, token, code or secret. */
export interface AuditRecord {
  readonly atMs: number;
  readonly requestId: string;
  /** A client id, `user <address>`, or `operator <address>` for a person's change of the platform; empty: unknown. */
  readonly actor: string;
  /** `token`, `sign in`, `revoke` … */
  readonly action: string;
  /** The resource: `grants/{id}`, `users/{email}`; may be empty. */
  readonly subject: string;
  readonly outcome: "done" | "refused";
  /** True if the subject is an existing account or client. Its rows have a limit apart from those of made-up names. */
  readonly known?: boolean;
  /** The exact cause. */
  readonly reason: string;
  /** Names of the changed fields, if they are known before the write. */
  readonly changed?: readonly string[];
}

/** Prefix of the actor of a person's change of the platform. */
export const OPERATOR_PERSON = "operator ";

/** The actor of a change by the operator service: its client, or the person who uses the service. */
export const actorOf = ({ user, clientId }: { readonly user: string; readonly clientId: string }): string =>
  user === "" ? clientId : `${OPERATOR_PERSON}${user}`;

/** A call of the operator service, as far as the audit log shows it. */
export interface OperatorCall {
  readonly nowMs: number;
  readonly requestId: string;
  readonly principal: { readonly user: string; readonly clientId: string };
}

export const madeBy = ({ nowMs, requestId, principal }: OperatorCall) => ({
  atMs: nowMs,
  requestId,
  actor: actorOf(principal),
});

/** The row of an operator's change. */
export const rowBy = (call: OperatorCall, action: string, subject: string, reason = ""): AuditRecord => ({
  ...madeBy(call),
  action,
  subject,
  outcome: "done",
  reason,
});

export interface AuditTrail {
  /** A row in the caller's transaction. `if changed`: only if the statement before it changed a row. */
  statement(when: "always" | "if changed", record: AuditRecord): D1PreparedStatement;
  /** Writes a row after the response. The number of rows by kind and subject is limited. Never throws. */
  note(record: AuditRecord): Promise<void>;
}

/** The audit log of a platform with several databases. */
export interface AuditTrails extends AuditTrail {
  inShard(db: D1Database): ShardTrail;
}

/** Rows about changes in a shard. Each is written in the transaction of its change, and soon moved to the log. */
export interface ShardTrail extends Pick<AuditTrail, "statement"> {
  /** Moves the rows to the log. After a failure they stay for the next time; a repeat adds none twice. */
  carry(): Promise<void>;
}
