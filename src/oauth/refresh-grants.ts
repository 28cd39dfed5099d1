import { sha256Hex } from "../platform/hash.ts";
import { randomSecret } from "../platform/random.ts";
import type { OAuthContext } from "./context.ts";
import type { RefreshGrant } from "./store/refresh-store.ts";

/** Makes a grant that lives until it is revoked; its first refresh token (contract 2.1: 256 bit, stored as SHA-256). */
export async function createRefreshGrant(
  grant: RefreshGrant,
  context: Pick<OAuthContext, "refreshGrants" | "random">,
  nowMs: number,
): Promise<string> {
  const token = randomSecret(context.random);
  await context.refreshGrants.add(grant, await sha256Hex(token), nowMs);
  return token;
}
