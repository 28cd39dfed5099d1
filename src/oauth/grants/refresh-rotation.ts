import type { Random } from "../../platform/runtime/random.ts";
import { createSealer, type Sealer } from "../../platform/secrets/seal.ts";
import { secretOf, type HeldToken, type HeldTokens } from "../homes/held-token.ts";
import type { StoredRefreshToken, Successor } from "./refresh-store.ts";

/**
 * Rotation of refresh tokens of clients without a secret (RFC 9700 4.14.2).
 *
 *   living ──used──▶ superseded ──its successor was used, or 30 s went by──▶ spent
 *     ▲                 ├ presented again: the response was lost, or a parallel request was first: the same successor
 *     └──given back─────┘ the request was refused. The successor stays the same; when it is used, the token is spent
 *
 * If a spent token is presented, two parties hold the family, so it is revoked. Tokens of clients with a secret can be
 * used any number of times and stay living.
 */
export type TokenState =
  | { readonly kind: "living" }
  | { readonly kind: "superseded"; readonly sealedSuccessor: string }
  | { readonly kind: "spent" };

export const GRACE_MS = 30_000;

export function tokenState(
  token: Pick<StoredRefreshToken, "usedAtMs" | "sealedSuccessor" | "successorUsed">,
  nowMs: number,
): TokenState {
  const { usedAtMs, sealedSuccessor, successorUsed } = token;
  if (successorUsed) return { kind: "spent" };
  if (usedAtMs === undefined) return { kind: "living" };
  if (sealedSuccessor === undefined || nowMs - usedAtMs > GRACE_MS) return { kind: "spent" };
  return { kind: "superseded", sealedSuccessor };
}

/** Makes the next token, in the same shard. `sealed`: its text for the row of the previous token. */
export async function makeSuccessor(
  token: HeldToken,
  tokens: HeldTokens,
  { grantId, email }: { readonly grantId: string | undefined; readonly email: string },
  random: Random,
): Promise<Successor> {
  const successor = await tokens.make(email, token.shard);
  return {
    tokenHash: successor.hash,
    sealed: await tokenSealer(token, random).seal(successor.text, sealContext(token, grantId)),
  };
}

/** Opens the next token. The sealed text in the database opens with the previous token only. */
export async function openSuccessor(
  token: HeldToken,
  sealed: string,
  grantId: string,
  random: Random,
): Promise<string> {
  const successor = await tokenSealer(token, random).open(sealed, sealContext(token, grantId));
  if (successor === undefined) throw new Error(`the successor of a refresh token of grant ${grantId} does not open`);
  return successor;
}

const tokenSealer = (token: HeldToken, random: Random): Sealer =>
  createSealer([{ id: "t", bytes: secretOf(token) }], random);

/** The context of the seal. In other shards than the directory, a token is replaced before its grant is known. */
const sealContext = (token: HeldToken, grantId: string | undefined): string =>
  token.shard === 0 ? `refresh_grant:${grantId}` : `refresh_token:${token.hash}`;
