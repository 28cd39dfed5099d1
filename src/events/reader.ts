import type { Principal } from "../http/auth.ts";
import { sha256Hex } from "../platform/hash.ts";

/** Who reads a topic. */
export interface Reader {
  /** Of the consumer whose cursor and lock are used. */
  readonly name: string;
}

/**
 * - A client's own token reads for the client, whatever the tenant.
 * - A person's reads for this person in this tenant at this client. A client may serve people of many tenants, and none of
 *   them may move what the client itself or another one of them reads. The person stands in the name as a hash.
 *
 * No client's id has a "/".
 */
export async function readerOf({ clientId, user, tenant }: Principal): Promise<Reader> {
  return { name: user === "" ? clientId : `${clientId}/person/${await sha256Hex(user)}/${tenant}` };
}
