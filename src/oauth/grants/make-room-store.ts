/**
 * Deletes the client's oldest rows beyond `most`. Row ids grow, and the index of the client has them, so this reads up
 * to `most` entries of the index, and no row but those that go. Strangers cause such rows through a client: if a full
 * client were refused, they could stop it.
 */
export const makeRoomStatement = (
  db: D1Database,
  table: "pushed_request" | "device_code",
  clientId: string,
  most: number,
): D1PreparedStatement =>
  db
    .prepare(
      `DELETE FROM ${table} WHERE client = ?1 AND rowid <= (
         SELECT rowid FROM ${table} WHERE client = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)`,
    )
    .bind(clientId, most);
