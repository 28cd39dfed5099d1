import type { Principal } from "./auth.ts";

/** What the platform knows of who holds an access token. */
export const TOKEN_KINDS = [
  /** The client's own: it proved itself by its secret, and no user is in it. */
  "client",
  /** A user's, for a tenant, at a client that proved itself. */
  "person",
  /** A user's, for a tenant, at a client that did not: a public one, the implicit flow, a password without the secret. */
  "personUnproven",
  /** A user's, for no tenant: everybody who has an account can get one. */
  "noTenant",
  /** A user's, for an organization. */
  "organization",
  /** A user's, of no client. */
  "clientless",
  /** Neither a user nor a proof of the client. None is issued; what would come is refused. */
  "unproven",
] as const;

export type TokenKind = (typeof TOKEN_KINDS)[number];

export function kindOf(token: Principal): TokenKind {
  if (token.user === "")
    return token.clientAuthenticated && token.clientName !== "" && token.tenant !== "" ? "client" : "unproven";
  if (token.clientId === "" || token.clientName === "") return "clientless";
  if (token.org !== "") return "organization";
  if (token.tenant === "") return "noTenant";
  return token.clientAuthenticated ? "person" : "personUnproven";
}
