import { allExpiredSec } from "../tokens/access-token.ts";
import { grantFamily } from "../tokens/revoked-tokens-store.ts";
import type { NewRevocation } from "../tokens/trust-store.ts";

/** A grant by its id and its person, whose homes are the shards where it may lie. */
export interface GrantOf {
  readonly id: string;
  readonly email: string;
}

/** A grant to be revoked. */
export interface RevokedGrant extends GrantOf {
  readonly clientId: string;
}

/** Revokes a grant's access tokens: those that were issued and those that are being issued now. */
export const grantRevocation = ({ id, clientId, email }: RevokedGrant, nowMs: number): NewRevocation => ({
  kind: "grant",
  key: id,
  issuedTo: clientId,
  family: grantFamily(email, clientId),
  expiresSec: allExpiredSec(nowMs),
});
