import type { Principal } from "./auth.ts";

/** Kinds of access tokens, by the holder that the platform knows. */
export const TOKEN_KINDS = [
  /** The client's own, without a user: the client authenticated by its secret. */
  "client",
  /** A user's, for a tenant, at a client that authenticated. */
  "person",
  /** A user's, for a tenant, at a client that did not: public, implicit flow, password without the secret. */
  "personUnproven",
  /** A user's, for no tenant: every account can get one. */
  "noTenant",
  /** A user's, for an organization. */
  "organization",
  /** A user's, of no client. */
  "clientless",
  /** Neither a user nor an authenticated client. Never issued, and refused. */
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
