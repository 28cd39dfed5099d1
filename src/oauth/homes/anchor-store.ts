/**
 * Sessions, codes and grants refer to a person and a client, whose rows are in the directory. A shard has an anchor for
 * each: a row that says nothing but that. It comes with the first sign-in and goes with its person or client
 * (elsewhere-store.ts). Nobody can have the name of an anchor of a client: names have no `~`.
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

/** To run before what refers to the person, in its transaction. */
export const personAnchor = (db: D1Database, email: string): D1PreparedStatement => db.prepare(ADD_PERSON).bind(email);

/** The same for a client. */
export const clientAnchor = (db: D1Database, clientId: string): readonly D1PreparedStatement[] => [
  db.prepare(ADD_ORGANIZATION),
  db.prepare(ADD_TENANT),
  db.prepare(ADD_CLIENT).bind(clientId),
];

/** Rows that the sweep deleted, and whose they were. */
export interface Expired {
  readonly rows: number;
  readonly emails: readonly string[];
}

export const toExpired = (rows: readonly { readonly email: string }[]): Expired => ({
  rows: rows.length,
  emails: [...new Set(rows.map(({ email }) => email))],
});
