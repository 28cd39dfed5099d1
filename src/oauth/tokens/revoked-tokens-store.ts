import { DATABASE_NOW_MS } from "../../platform/storage/database.ts";
import { NEXT_REVOCATION } from "./revocation-collapse-store.ts";
import { accessKey, type NewRevocation } from "./trust-store.ts";

/**
 * Bounds the revoked single tokens, since any holder of a token of a public client may revoke it, as often as it likes.
 * The revocations of one person must not end the tokens of others.
 *
 *   over 1,000 of a person from one client   the person loses what the client got of it: one row replaces the rows
 *   over 20,000 of a client                  the same for each person with more than 10 of them, and for the client's
 *                                            own tokens
 *   still over 20,000                        some 2,000 people revoked them: the client loses every token
 *
 * The family of a token, in the column `client`, is the key of the row that replaces it: client and person, or the
 * client alone for its own tokens. Families of one client lie side by side in the index of this column.
 */
export const REVOKED_TOKENS = { ofPerson: 1_000, ofClient: 20_000, few: 10 } as const;
export type RevokedTokensBound = { readonly [name in keyof typeof REVOKED_TOKENS]: number };

/** A revoked token: `client` is empty if none took part, `user` if the client got the token for itself. */
export const tokenRevocation = (
  { tokenId, user, clientId }: { readonly tokenId: string; readonly user: string; readonly clientId: string },
  expiresSec: number,
): NewRevocation => ({
  kind: "token",
  key: tokenId,
  expiresSec,
  issuedTo: clientId,
  family: { key: accessKey(user, clientId), isOfPerson: user !== "" },
});

/** One step: `cutOff` revokes more by fewer rows, and `forget` deletes the rows that it includes. */
export interface TokenCollapse {
  readonly cutOff: D1PreparedStatement;
  /** Runs directly after a statement that changed a row if `cutOff` did. */
  readonly forget: D1PreparedStatement;
  readonly reason: string;
}

/** SQL: the families of a client. Ids of clients contain no space. */
const isOfClient = (client: string): string => `row.client >= ${client} || ' of ' AND row.client < ${client} || ' of!'`;

const sqlOf = ({ ofPerson, ofClient, few }: RevokedTokensBound) => {
  const clients = `
    SELECT listed.value AS name FROM json_each(?2) AS listed
    WHERE EXISTS (SELECT 1 FROM revocation AS row WHERE ${isOfClient("listed.value")} LIMIT 1 OFFSET ${ofClient})`;
  const families = `
    SELECT listed.value ->> 'key' AS name, listed.value ->> 'client' AS client FROM json_each(?1) AS listed
    WHERE EXISTS (SELECT 1 FROM revocation AS row WHERE row.client = listed.value ->> 'key' LIMIT 1 OFFSET ${ofPerson})
    UNION
    SELECT row.client, overfull.name FROM (${clients}) AS overfull CROSS JOIN revocation AS row
    WHERE ${isOfClient("overfull.name")} GROUP BY overfull.name, row.client HAVING count(*) > ${few}`;
  const cutOff = (kind: string, columns: string, from: string) => `
    INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, issued_to)
    SELECT ${NEXT_REVOCATION}, '${kind}', ${columns}, ?3, client FROM (${from})`;
  /** Counts nothing unless the cut-off was made. */
  const forget = (from: string, included: string) => `
    DELETE FROM revocation WHERE seq IN (
      SELECT row.seq FROM (SELECT changes() AS made) AS done CROSS JOIN (${from}) AS cut_off CROSS JOIN revocation AS row
      WHERE done.made > 0 AND ${included})`;
  return {
    cutOffPeople: cutOff("grant", `name, ${DATABASE_NOW_MS}`, families),
    forgetPeople: forget(families, "row.client = cut_off.name"),
    cutOffClients: cutOff("client", `name, ${DATABASE_NOW_MS}`, `SELECT name, NULL AS client FROM (${clients})`),
    forgetClients: forget(clients, isOfClient("cut_off.name")),
  };
};

export type RevokedTokensStore = ReturnType<typeof createRevokedTokensStore>;

export function createRevokedTokensStore(db: D1Database, bound: RevokedTokensBound = REVOKED_TOKENS) {
  const sql = sqlOf(bound);
  return {
    /** The steps that run after `revoke`, in its transaction. None if no single token is revoked. */
    collapseStatements(revocations: readonly NewRevocation[], expiresSec: number): readonly TokenCollapse[] {
      const families = new Map(
        revocations.flatMap(({ family, issuedTo = "" }) =>
          family === undefined ? [] : [[family.key, { ...family, client: issuedTo }] as const],
        ),
      );
      if (families.size === 0) return [];
      const people = [...families.values()].filter(({ isOfPerson }) => isOfPerson);
      const clients = new Set([...families.values()].map(({ client }) => client));
      const step = (cutOff: string, forget: string, reason: string): TokenCollapse => ({
        cutOff: db.prepare(cutOff).bind(JSON.stringify(people), JSON.stringify([...clients]), expiresSec),
        forget: db.prepare(forget).bind(JSON.stringify(people), JSON.stringify([...clients])),
        reason,
      });
      return [
        step(
          sql.cutOffPeople,
          sql.forgetPeople,
          `over ${bound.ofPerson} revoked tokens of a person, or ${bound.ofClient} of a client: ` +
            "all that the people with most of them got by it until now is void",
        ),
        step(
          sql.cutOffClients,
          sql.forgetClients,
          `over ${bound.ofClient} revoked tokens of a client: all that it got until now is void`,
        ),
      ];
    },
  };
}
