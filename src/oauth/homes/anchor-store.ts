/**
 * Grants refer to a person and a client, whose rows are in the directory. A shard has an anchor for each: a row that
 * says nothing but that. It comes with the first grant and goes with its person or client (elsewhere-store.ts). Nobody
 * can have the name of an anchor of a client: names have no `~`.
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

/** To run before the grant is added, in its transaction. */
export const anchorStatements = (
  db: D1Database,
  { email, clientId }: { readonly email: string; readonly clientId: string },
): readonly D1PreparedStatement[] => [
  db.prepare(ADD_ORGANIZATION),
  db.prepare(ADD_TENANT),
  db.prepare(ADD_CLIENT).bind(clientId),
  db.prepare(ADD_PERSON).bind(email),
];
