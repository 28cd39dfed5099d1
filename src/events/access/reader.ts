import type { Principal } from "../../http/auth.ts";
import { sha256Hex } from "../../platform/hash.ts";
import type { OwnTenant } from "../log/hidden-ids.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { Reach } from "./access.ts";

/** Who reads a topic. */
export interface Reader {
  /** Of the consumer whose cursor and lock are used. */
  readonly name: string;
  /** The one whose events it is shown; all where undefined. */
  readonly onlyTenant?: string | undefined;
}

/**
 * - A client's own token reads for the client, whatever the tenant; where it is shown one tenant's events, for the client
 *   in this tenant.
 * - A person's reads for this person in this tenant at this client. A client may serve people of many tenants, and none of
 *   them may move what the client itself or another one of them reads. The person stands in the name as a hash.
 *
 * No client's id has a "/".
 */
export async function readerOf({ clientId, user, tenant }: Principal, reach: Reach): Promise<Reader> {
  const whose = user === "" ? clientId : `${clientId}/person/${await sha256Hex(user)}/${tenant}`;
  return reach === "all" ? { name: whose } : { name: `${whose}/of/${tenant}`, onlyTenant: tenant };
}

/** What the reader is shown of a topic, where that is one tenant's events. */
export const shownTo = (
  { onlyTenant: tenant }: Pick<Reader, "onlyTenant">,
  topic: TopicAddress,
): OwnTenant | undefined => (tenant === undefined ? undefined : { tenant, secret: topic.incarnation });
