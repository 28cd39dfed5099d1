/** A session that is about to begin. Its row is written in one transaction with its first code, or alone. */
export interface BeginningSession {
  /** The key of its row. */
  readonly idHash: string;
  /** The database of the row. */
  readonly shard: number;
  /** One transaction, which begins the session if its user may sign in. */
  readonly statements: readonly D1PreparedStatement[];
  /** The index of the statement that begins the session. */
  readonly startsAt: number;
  /** Call this after the transaction. Ends the session that the browser had in another database. */
  tookEffect(began: boolean): Promise<void>;
}
