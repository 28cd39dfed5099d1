import type { Body } from "./client-body.ts";

/**
 * Fields of a client that a PUT may leave out without changing them. Whoever adds a scope by a PUT must not turn PKCE
 * off, let a foreign application in without people's consent, or let people see each other's files.
 *
 * Some of these fields allow others only certain values. So a PUT is checked together with the fields that it keeps:
 * before the transaction, for the answer, and in it, because a concurrent change may have stored others.
 */
type Kept = Required<Pick<Body, "authMethod" | "jwks" | "jwksUri" | "securityProfile" | "thirdParty">>;

/** A stored client, as far as changes to it depend on it. */
export interface StoredClient extends Kept {
  readonly name: string;
  readonly tenant: string;
}

const STORED = `SELECT name, tenant, auth_method, jwks, jwks_uri, profile, third_party FROM client WHERE id = ?1`;

export async function storedClient(db: D1Database, id: string): Promise<StoredClient | undefined> {
  const row = await db.prepare(STORED).bind(id).first<Record<string, string>>();
  if (row === null) return undefined;
  const { name = "", tenant = "", jwks = "", jwks_uri: jwksUri = "" } = row;
  return {
    name,
    tenant,
    authMethod: (row["auth_method"] || "client_secret") as Kept["authMethod"],
    jwks,
    jwksUri,
    securityProfile: (row["profile"] || "none") as Kept["securityProfile"],
    thirdParty: Number(row["third_party"]) === 1,
  };
}

/** Returns the body as it would be with the fields that it keeps. */
export function withKept(body: Body, stored: StoredClient | undefined): Body {
  const { authMethod, jwks, jwksUri } = proofOf(body);
  const { securityProfile, thirdParty } = body;
  return {
    ...body,
    authMethod: authMethod ?? stored?.authMethod ?? "client_secret",
    jwks: jwks ?? stored?.jwks ?? "",
    jwksUri: jwksUri ?? stored?.jwksUri ?? "",
    securityProfile: securityProfile ?? stored?.securityProfile ?? "none",
    thirdParty: thirdParty ?? stored?.thirdParty ?? false,
  };
}

/**
 * Returns how the client authenticates, as far as the body says it. A client that is not confidential does not, and one
 * that gets another method has no keys. Keys replace an address of keys, and vice versa.
 */
export function proofOf({ confidential, authMethod, jwks, jwksUri }: Body): Partial<Kept> {
  const method = authMethod ?? (confidential ? undefined : "client_secret");
  const other = method === undefined || method === "private_key_jwt" ? undefined : "";
  return {
    ...(method !== undefined && { authMethod: method }),
    ...defined("jwks", jwks ?? other ?? (jwksUri ? "" : undefined)),
    ...defined("jwksUri", jwksUri ?? other ?? (jwks ? "" : undefined)),
  };
}

const defined = <K extends string>(name: K, value: string | undefined): { readonly [name in K]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { readonly [name in K]?: string };

/**
 * SQL: the stored client obeys the rules of `check` that depend on fields which a PUT may keep. `?2`: the PUT has a
 * secret, which a client with private keys must not have.
 */
export const KEEPS_RULES = `NOT EXISTS (SELECT 1 FROM client WHERE id = ?1 AND (
  third_party = 1 AND EXISTS (SELECT 1 FROM json_each(grant_types) WHERE value = 'password')
  OR auth_method = 'private_key_jwt' AND (?2 OR (jwks = '') = (jwks_uri = ''))
  OR profile = 'fapi2' AND (auth_method <> 'private_key_jwt'
    OR EXISTS (SELECT 1 FROM json_each(grant_types) WHERE value IN ('implicit', 'password'))
    OR EXISTS (SELECT 1 FROM json_each(redirect_uris) WHERE substr(value, 1, 8) <> 'https://'))))`;
