import type { Violations } from "./violations.ts";

export interface AuditRow {
  readonly requestId: string;
  readonly subject: string;
  readonly outcome: string;
}

/** Changes by the operator, compared with the audit log. */
export class ChangesLedger {
  /** Request id → subject, for answered changes. */
  readonly done = new Map<string, string>();
  /** Unanswered attempts by subject. */
  readonly #maybe = new Map<string, number>();

  unknown(subject: string): void {
    this.#maybe.set(subject, (this.#maybe.get(subject) ?? 0) + 1);
  }

  /** `rows`: all audit rows about the run's records. */
  check(rows: readonly AuditRow[], violations: Violations): void {
    const isDone = rows.filter(({ outcome }) => outcome === "done");
    const byRequest = Map.groupBy(isDone, ({ requestId }) => requestId);
    for (const [requestId, subject] of this.done) {
      const count = (byRequest.get(requestId) ?? []).filter((row) => row.subject === subject).length;
      violations.expect(
        "each change has one row of the audit log",
        count === 1,
        () => `${subject}: ${count} rows of request ${requestId}`,
      );
    }
    const surplus = Map.groupBy(
      isDone.filter(({ requestId }) => !this.done.has(requestId)),
      ({ subject }) => subject,
    );
    for (const [subject, found] of surplus)
      violations.expect(
        "the audit log tells of no change that nobody made",
        found.length <= (this.#maybe.get(subject) ?? 0),
        () => `${subject}: ${found.length} rows, ${this.#maybe.get(subject) ?? 0} unanswered attempts`,
      );
  }
}
