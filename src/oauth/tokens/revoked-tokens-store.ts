import { DATABASE_NOW_MS } from "../../platform/storage/database.ts";
import { ACCESS_TOKEN_LIFETIME_SEC } from "./lifetimes.ts";
import { NEXT_REVOCATION } from "./revocation-collapse-store.ts";
import { accessKey, type NewRevocation, type RevokedFamily } from "./trust-store.ts";

/**
 * Bounds the revoked single tokens and grants, since any holder of a token of a public client may revoke it, and any
 * person may sign in and end that again, as often as it likes. The revocations of one person must not end the tokens of
 * others.
 *
 *   over 1,000 tokens, or 1,000 grants, of a person from one client
 *                                    the person loses what the client got of it: one row replaces the rows
 *   over 20,000 tokens of a client   the same for each person with more than 10 of them, and for the client's
 *                                    own tokens
 *   still over 20,000                some 2,000 people revoked them: the client loses every token
 *
 * The family of a token, in the column `client`, is the key of the row that replaces it: client and person, or the
 * client alone for its own tokens. Families of one client lie side by side in the index of this column. Those of grants
 * lie elsewhere in it, since many people of a large application sign out.
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
  family: { key: accessKey(user, clientId), ended: accessKey(user, clientId), isOfPerson: user !== "" },
});

/** The character before the key of a family of grants. No id of a client begins with it. */
const OF_GRANTS = "|";
/** SQL: the family of a grant. */
export const grantFamilySql = (client: string, email: string): string =>
  `'${OF_GRANTS}' || ${client} || ' of ' || ${email}`;

export const grantFamily = (email: string, clientId: string): RevokedFamily => ({
  key: OF_GRANTS + accessKey(email, clientId),
  ended: accessKey(email, clientId),
  isOfPerson: true,
});

/** SQL: the families of a client. Ids of clients contain no space. */
const isOfClient = (client: string): string => `row.client >= ${client} || ' of ' AND row.client < ${client} || ' of!'`;

/**
 * SQL: every token that the row revokes has been issued. A revoked grant may still give a token for a moment, so its
 * row stays for this time (revocation-collapse-store.ts).
 */
const IS_INCLUDED = `(row.kind = 'token' OR row.expires_sec * 1000 < ${DATABASE_NOW_MS} + ${ACCESS_TOKEN_LIFETIME_SEC} * 1000)`;

const sqlOf = ({ ofPerson, ofClient, few }: RevokedTokensBound) => {
  const clients = `
    SELECT listed.value AS name FROM json_each(?2) AS listed
    WHERE EXISTS (SELECT 1 FROM revocation AS row WHERE ${isOfClient("listed.value")} LIMIT 1 OFFSET ${ofClient})`;
  const families = `
    SELECT listed.value ->> 'key' AS family, listed.value ->> 'ended' AS name, listed.value ->> 'client' AS client
    FROM json_each(?1) AS listed
    WHERE EXISTS (SELECT 1 FROM revocation AS row WHERE row.client = listed.value ->> 'key' LIMIT 1 OFFSET ${ofPerson})
    UNION
    SELECT row.client, row.client, overfull.name FROM (${clients}) AS overfull CROSS JOIN revocation AS row
    WHERE ${isOfClient("overfull.name")} GROUP BY overfull.name, row.client HAVING count(*) > ${few}`;
  const cutOff = (kind: string, columns: string, from: string) => `
    INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, issued_to)
    SELECT ${NEXT_REVOCATION}, '${kind}', ${columns}, ?3, client FROM (${from}) GROUP BY name`;
  /** Counts nothing unless the cut-off was made. */
  const forget = (from: string, included: string) => `
    DELETE FROM revocation WHERE seq IN (
      SELECT row.seq FROM (SELECT changes() AS made) AS done CROSS JOIN (${from}) AS cut_off CROSS JOIN revocation AS row
      WHERE done.made > 0 AND ${included})`;
  return {
    cutOffPeople: cutOff("grant", `name, ${DATABASE_NOW_MS}`, families),
    forgetPeople: forget(families, `row.client = cut_off.family AND ${IS_INCLUDED}`),
    cutOffClients: cutOff("client", `name, ${DATABASE_NOW_MS}`, `SELECT name, NULL AS client FROM (${clients})`),
    forgetClients: forget(clients, isOfClient("cut_off.name")),
  };
};

export type RevokedTokensStore = ReturnType<typeof createRevokedTokensStore>;

export function createRevokedTokensStore(db: D1Database, bound: RevokedTokensBound = REVOKED_TOKENS) {
  const sql = sqlOf(bound);
  return {
    /**
     * The statements that run after `revoke`, in its transaction: some revoke more by fewer rows, others delete the
     * rows that these include. None if no single token or grant is revoked. `reportStatement`: a row of the audit log
     * if the statement before it changed a row.
     */
    collapseStatements(
      revocations: readonly NewRevocation[],
      expiresSec: number,
      reportStatement: (reason: string) => D1PreparedStatement,
    ): readonly D1PreparedStatement[] {
      const families = new Map(
        revocations.flatMap(({ family, issuedTo = "" }) =>
          family === undefined ? [] : [[family.key, { ...family, client: issuedTo }] as const],
        ),
      );
      if (families.size === 0) return [];
      const people = [...families.values()].filter(({ isOfPerson }) => isOfPerson);
      const clients = new Set([...families.values()].map(({ client }) => client));
      const step = (cutOff: string, forget: string, reason: string): readonly D1PreparedStatement[] => [
        db.prepare(cutOff).bind(JSON.stringify(people), JSON.stringify([...clients]), expiresSec),
        reportStatement(reason),
        // Directly after it: it counts nothing unless the cut-off was made.
        db.prepare(forget).bind(JSON.stringify(people), JSON.stringify([...clients])),
      ];
      return [
        ...step(
          sql.cutOffPeople,
          sql.forgetPeople,
          `over ${bound.ofPerson} revoked tokens or grants of a person, or ${bound.ofClient} of a client: ` +
            "all that the people with most of them got by it until now is void",
        ),
        ...step(
          sql.cutOffClients,
          sql.forgetClients,
          `over ${bound.ofClient} revoked tokens of a client: all that it got until now is void`,
        ),
      ];
    },
  };
}
