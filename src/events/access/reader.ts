import type { Principal } from "../../http/callers/auth.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { OwnTenant } from "../log/hidden-ids.ts";
import type { Failure } from "../model/failure.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { Reach } from "./access.ts";

/** A consumer of a topic. */
export interface Reader {
  /** Name of the consumer whose cursor and lock are used. */
  readonly name: string;
  /** Show only this tenant's events; undefined shows all. */
  readonly onlyTenant?: string | undefined;
  /** Prefix of the names of this caller's named consumers; undefined if the request names no consumer. */
  readonly named?: string | undefined;
}

/** The header `Consumer` of a request. */
export const CONSUMER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The pattern in words, to follow the name of a field. */
export const CONSUMER_NAME_RULE =
  "must be 1 to 64 letters, digits, dots, hyphens or underscores, a letter or digit first";

/**
 * Chooses the consumer for a token.
 *
 * - A client's own token reads for the client, in any tenant. If it is shown one tenant's events only, it reads for the
 *   client in that tenant.
 * - A person's token reads for this person in this tenant at this client. One client may serve people of many tenants,
 *   and no person may move the cursor of another person or of the client. The name contains a hash of the person.
 * - Each caller may have further consumers, which it names in the header `Consumer`.
 *
 * Names cannot collide: no client id and no consumer's name has a "/".
 */
export async function readerOf(
  { clientId, user, tenant }: Principal,
  reach: Reach,
  consumer: string | null,
): Promise<Reader> {
  const whose = user === "" ? clientId : `${clientId}/person/${await sha256Hex(user)}/${tenant}`;
  const reader: Reader = reach === "all" ? { name: whose } : { name: `${whose}/of/${tenant}`, onlyTenant: tenant };
  const named = `${reader.name}/consumer/`;
  return consumer === null ? reader : { ...reader, name: `${named}${consumer}`, named };
}

/** The failure of a read while the topic is locked: until when, and which of the caller's consumers holds the lock. */
export function lockedBy({ name, named }: Reader, retryAfterMs: number, nowMs: number): Failure {
  const holder = named === undefined ? "Another read of yours" : `Your consumer ${name.slice(named.length)}`;
  return { kind: "topic_locked", retryAfterMs, untilMs: nowMs + retryAfterMs, holder };
}

/** The tenant filter of a reader; undefined if it is shown all events. */
export const tenantFilter = (
  { onlyTenant: tenant }: Pick<Reader, "onlyTenant">,
  topic: TopicAddress,
): OwnTenant | undefined => (tenant === undefined ? undefined : { tenant, secret: topic.incarnation });
