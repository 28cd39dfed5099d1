/** A session whose row is written with its first code, or alone. */
export interface BeginningSession {
  /** The key of its row. */
  readonly idHash: string;
  /** Its database. */
  readonly shard: number;
  /** They are one transaction. One of them begins the session, if its user may sign in. */
  readonly statements: readonly D1PreparedStatement[];
  /** Takes their results, and returns whether the session began. Ends the session that the browser had elsewhere. */
  tookEffect(results: readonly D1Result[]): Promise<boolean>;
}
