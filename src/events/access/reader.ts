import type { Principal } from "../../http/auth.ts";
import { sha256Hex } from "../../platform/hash.ts";
import type { OwnTenant } from "../log/hidden-ids.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { Reach } from "./access.ts";

/** A consumer of a topic. */
export interface Reader {
  /** Names the consumer whose cursor and lock are used. */
  readonly name: string;
  /** Show only this tenant's events; undefined shows all. */
  readonly onlyTenant?: string | undefined;
}

/**
 * Chooses the consumer for a token.
 *
 * - A client's own token reads for the client, in any tenant. If it is shown one tenant's events only, it reads for the
 *   client in that tenant.
 * - A person's token reads for this person in this tenant at this client. One client may serve people of many tenants,
 *   and none may move the cursor of another or of the client. The name has a hash of the person.
 *
 * Names cannot collide: no client id has a "/".
 */
export async function readerOf({ clientId, user, tenant }: Principal, reach: Reach): Promise<Reader> {
  const whose = user === "" ? clientId : `${clientId}/person/${await sha256Hex(user)}/${tenant}`;
  return reach === "all" ? { name: whose } : { name: `${whose}/of/${tenant}`, onlyTenant: tenant };
}

/** The tenant filter of a reader; undefined if it is shown all events. */
export const tenantFilter = (
  { onlyTenant: tenant }: Pick<Reader, "onlyTenant">,
  topic: TopicAddress,
): OwnTenant | undefined => (tenant === undefined ? undefined : { tenant, secret: topic.incarnation });
