import type { Principal } from "../../http/callers/auth.ts";
import { EVERY_TENANT } from "./revocation-collapse-store.ts";
import type { RevocationTable } from "./revocation-table.ts";
import { accessKey, clientsOfKey, EVERY_MEMBER, placeKey, type Revocation } from "./trust-store.ts";

/** The part of a token that revocations refer to. */
export interface IssuedToken extends Principal {
  /** The tenant that the client is registered in. Undefined: the token's tenant. */
  readonly clientTenant: string | undefined;
  /** The database's time when the records of client and tenant were read. */
  readonly recordsAsOfMs: number;
  /** The read of the user's records. They are read each time, so they may show a change that the others do not. */
  readonly userAsOfMs: number;
}

export type Revocable = Pick<
  IssuedToken,
  | "tokenId"
  | "grantId"
  | "sessionId"
  | "clientId"
  | "clientTenant"
  | "tenant"
  | "org"
  | "user"
  | "recordsAsOfMs"
  | "userAsOfMs"
>;

/** True if a row concerns the token. Each name of a token has a kind of row, or a key. */
export function isRevokedBy(revoked: RevocationTable, token: Revocable): boolean {
  if (revoked.size === 0) return false;
  const { recordsAsOfMs, userAsOfMs, clientId, tenant, clientTenant = tenant, org, user } = token;
  const isVoid = (kind: Revocation["kind"], key: string, asOfMs: number): boolean =>
    revoked.untilMs(kind, key) >= asOfMs;
  return (
    isVoid("token", token.tokenId, recordsAsOfMs) ||
    isVoid("grant", token.grantId, recordsAsOfMs) ||
    isVoid("grant", accessKey(user, clientId), userAsOfMs) ||
    isVoid("session", token.sessionId, recordsAsOfMs) ||
    isVoid("client", clientId, recordsAsOfMs) ||
    isVoid("tenant", tenant, recordsAsOfMs) ||
    isVoid("tenant", clientsOfKey(clientTenant), recordsAsOfMs) ||
    isVoid("tenant", EVERY_TENANT, recordsAsOfMs) ||
    isVoid("user", user, userAsOfMs) ||
    (user !== "" &&
      [user, EVERY_MEMBER].some(
        (member) =>
          (tenant !== "" && isVoid("user", placeKey(member, "tenant", tenant), userAsOfMs)) ||
          (org !== "" && isVoid("user", placeKey(member, "organization", org), userAsOfMs)),
      ))
  );
}
