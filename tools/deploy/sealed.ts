import * as z from "zod";
import { parseObjectShards } from "../../src/platform/storage/object-shards.ts";
import type { FoundWorker } from "./found.ts";
import { done, operatorToken } from "./operator.ts";
import type { Ask } from "./reach.ts";

/** Ids of the keys that sealed something; or why they are not known. */
export type UsedSealKeys = { readonly ids: readonly string[] } | { readonly fault: string };

/**
 * Push subscriptions lie in shards, sealed. The API of Cloudflare reads a database, but no object: only the Worker
 * can. Objects of tenants hold files, of which nothing is sealed.
 */
export const hasObjectShards = ({ vars }: FoundWorker): boolean =>
  parseObjectShards(vars["OBJECT_SHARDS"] ?? "")?.size !== 0;

/** A platform has sealed signing keys at least. So an empty list is not its answer. */
const sealKeys = z.array(z.looseObject({ id: z.string() })).min(1);

/** Asks the running Worker which keys sealed something, anywhere. */
export async function askUsedSealKeys(
  { vars }: FoundWorker,
  { ask, secrets }: { readonly ask: Ask; readonly secrets: readonly string[] },
): Promise<UsedSealKeys> {
  const { PATH_PREFIX: prefix = "", PLATFORM: platform = "" } = vars;
  try {
    const token = await operatorToken(ask, { prefix, platform, secrets });
    const path = `${prefix}/admin/v1/seal-keys`;
    const { body } = done(await ask(path, { headers: { authorization: `Bearer ${token}` } }), path);
    const keys = sealKeys.parse(JSON.parse(body));
    // Each kind of sealed text has a count. A newer release may have more kinds.
    const isUsed = (key: object): boolean => Object.values(key).some((count) => typeof count === "number" && count > 0);
    return { ids: keys.filter(isUsed).map(({ id }) => id) };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
