/**
 * Anchors: rows of people and clients in a shard that is not the directory. Sessions, codes and grants refer to them by
 * foreign keys; everything about the person or client itself is in the directory. The first sign-in writes an anchor;
 * it is deleted with the person or client (elsewhere-store.ts). No real client has the name of an anchor, since names
 * contain no `~`.
 */
const OWNER = "~";
const ADD_ORGANIZATION = `INSERT INTO organization (id, name, created_at) VALUES ('${OWNER}', '', 0) ON CONFLICT DO NOTHING`;
const ADD_TENANT = `
  INSERT INTO tenant (id, organization, name, disabled, created_at) VALUES ('${OWNER}', '${OWNER}', '', 1, 0)
  ON CONFLICT DO NOTHING`;
const ADD_CLIENT = `
  INSERT INTO client (id, name, tenant, confidential, redirect_uris, post_logout_redirect_uris, grant_types, scopes,
    require_pkce, disabled, created_at)
  VALUES (?1, '${OWNER}' || ?1, '${OWNER}', 0, '[]', '[]', '[]', '[]', 1, 1, 0) ON CONFLICT DO NOTHING`;
const ADD_PERSON = `INSERT INTO user (email, name, disabled, created_at) VALUES (?1, '', 1, 0) ON CONFLICT DO NOTHING`;

/** Runs in the transaction of the first row that refers to the person, before it. */
export const personAnchor = (db: D1Database, email: string): D1PreparedStatement => db.prepare(ADD_PERSON).bind(email);

/** The same for a client. */
export const clientAnchor = (db: D1Database, clientId: string): readonly D1PreparedStatement[] => [
  db.prepare(ADD_ORGANIZATION),
  db.prepare(ADD_TENANT),
  db.prepare(ADD_CLIENT).bind(clientId),
];

/** How many rows the sweep deleted, and the people that they belonged to. */
export interface Expired {
  readonly rows: number;
  readonly emails: readonly string[];
}

export const toExpired = (rows: readonly { readonly email: string }[]): Expired => ({
  rows: rows.length,
  emails: [...new Set(rows.map(({ email }) => email))],
});
