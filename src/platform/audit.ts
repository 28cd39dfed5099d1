/** One line of the audit log. Nothing secret: no password, token, code or secret, in no field. */
export interface AuditRecord {
  readonly atMs: number;
  readonly requestId: string;
  /** Who did it: a client id, or `user <address>`; empty where nobody is known. */
  readonly actor: string;
  /** `token`, `sign in`, `revoke` … */
  readonly action: string;
  /** What it was done to: `grants/{id}`, `users/{email}`; may be empty. */
  readonly subject: string;
  readonly outcome: "done" | "refused";
  /** The subject is an account or client that there is: noise about others takes no row from it. */
  readonly known?: boolean;
  /** Exactly what happened. */
  readonly reason: string;
  /** What it changed, where that is known before: the names of fields. */
  readonly changed?: readonly string[];
}

export interface AuditTrail {
  /** A row in the caller's transaction. `if changed`: only when the statement before it changed a row. */
  statement(when: "always" | "if changed", record: AuditRecord): D1PreparedStatement;
  /** A row beside an answer: bounded in number by kind and subject, never throws, loses nothing but the row. */
  note(record: AuditRecord): Promise<void>;
}
