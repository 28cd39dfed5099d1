import { fromBase64Url } from "../../platform/text/encoding.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../platform/runtime/random.ts";
import { createSealer, type Sealer } from "../../platform/secrets/seal.ts";
import type { StoredRefreshToken, Successor } from "./refresh-store.ts";

/**
 * Rotation of refresh tokens of clients without a secret (RFC 9700 4.14.2).
 *
 *   living ──used──▶ superseded ──its successor was used, or 30 s went by──▶ spent
 *                       └ presented again: the response was lost, or a parallel request was first: the same successor
 *
 * If a spent token is presented, two parties hold the family, so it is revoked. Tokens of clients with a secret can be
 * used any number of times and stay living.
 */
export type TokenState =
  | { readonly kind: "living" }
  | { readonly kind: "superseded"; readonly sealedSuccessor: string }
  | { readonly kind: "spent" };

const GRACE_MS = 30_000;

export function tokenState(
  token: Pick<StoredRefreshToken, "usedAtMs" | "sealedSuccessor" | "successorUsed">,
  nowMs: number,
): TokenState {
  const { usedAtMs, sealedSuccessor, successorUsed } = token;
  if (usedAtMs === undefined) return { kind: "living" };
  if (sealedSuccessor === undefined || successorUsed || nowMs - usedAtMs > GRACE_MS) return { kind: "spent" };
  return { kind: "superseded", sealedSuccessor };
}

/** Makes the next token. */
export async function makeSuccessor(token: string, grantId: string, random: Random): Promise<Successor> {
  const successor = randomSecret(random);
  return {
    tokenHash: await sha256Hex(successor),
    sealed: await tokenSealer(token, random).seal(successor, sealContext(grantId)),
  };
}

/** Opens the next token. The sealed text in the database opens with the previous token only. */
export async function openSuccessor(token: string, sealed: string, grantId: string, random: Random): Promise<string> {
  const successor = await tokenSealer(token, random).open(sealed, sealContext(grantId));
  if (successor === undefined) throw new Error(`the successor of a refresh token of grant ${grantId} does not open`);
  return successor;
}

function tokenSealer(token: string, random: Random): Sealer {
  const bytes = fromBase64Url(token);
  if (bytes === undefined) throw new Error("a stored refresh token is always base64url");
  return createSealer([{ id: "t", bytes }], random);
}

const sealContext = (grantId: string): string => `refresh_grant:${grantId}`;
