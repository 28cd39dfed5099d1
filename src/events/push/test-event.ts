import { toHex } from "../../platform/encoding.ts";
import type { Random } from "../../platform/random.ts";
import type { Message } from "./request.ts";
import type { TopicId } from "../model/topic.ts";

/** An event of the caller's tenant that was never published: its id is none of a topic's, and its metadata says what it is. */
export function testEvent({ owner, eventType }: TopicId, tenant: string, random: Random, nowMs: number): Message {
  const id = `test-${toHex(random.bytes(8))}`;
  const event = {
    id,
    createdAt: nowMs,
    tenant,
    sourceClient: owner,
    eventType,
    payload: "{}",
    metadata: { test: "true" },
  };
  return { eventId: id, text: JSON.stringify(event), number: 1 };
}
