import { sha256Hex } from "../../platform/hash.ts";
import { randomSecret, type Random } from "../../platform/random.ts";
import type { RefreshGrant, RefreshStore } from "./refresh-store.ts";

/** Makes a grant that lives until it is revoked; its first refresh token (contract 2.1: 256 bit, stored as SHA-256). */
export async function createRefreshGrant(
  grant: RefreshGrant,
  context: { readonly refreshGrants: RefreshStore; readonly random: Random },
  nowMs: number,
): Promise<string> {
  const token = randomSecret(context.random);
  await context.refreshGrants.add(grant, await sha256Hex(token), nowMs);
  return token;
}
