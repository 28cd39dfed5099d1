/** A session that is about to begin. Its row is written in one transaction with its first code, or alone. */
export interface BeginningSession {
  /** The key of its row. */
  readonly idHash: string;
  /** The database of the row. */
  readonly shard: number;
  /** One transaction, which begins the session if its user may sign in. */
  readonly statements: readonly D1PreparedStatement[];
  /** Tells from the results whether the session began. If so, ends the one that the browser had in another database. */
  tookEffect(results: readonly D1Result[]): Promise<boolean>;
}
