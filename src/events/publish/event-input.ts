import { Buffer } from "node:buffer";
import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import type { Problem } from "../../http/errors/errors.ts";
import { matching, stringMap, validate } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { NewEvent } from "../log/segments.ts";
import type { Failure } from "../model/failure.ts";
import { PUBLISH } from "../model/limits.ts";
import type { TopicId } from "../model/topic.ts";

/** An event to be stored: parsed, and with its tenant. */
export interface NamedEvent {
  readonly payload: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly tenant: string;
}

/** An event of a request. */
export interface PublishedEvent extends NamedEvent {
  /** Prefix of its fields' names in errors, such as `[2].`; empty for a single event. */
  readonly at: string;
}

/** Parses the body of a publish request: one event, or an array of events. */
export function readEvents(
  body: unknown,
  principal: Pick<Principal, "tenant">,
): Result<readonly PublishedEvent[], Failure | Problem> {
  const many = Array.isArray(body);
  // Check the length before the elements: a body may hold millions.
  if (many && (body.length === 0 || body.length > PUBLISH.maxEvents))
    return err({ kind: "too_many_events", maxEvents: PUBLISH.maxEvents });
  const parsed = many ? validate("body", eventArray, body) : validate("body", eventObject, body);
  if (!parsed.ok) return parsed;
  const given = Array.isArray(parsed.value) ? parsed.value : [parsed.value];
  const events: PublishedEvent[] = [];
  for (const [index, { payload, metadata, tenant }] of given.entries()) {
    const at = many ? `[${index}].` : "";
    const failure = tooLarge(payload, metadata, at);
    if (failure !== undefined) return err(failure);
    events.push({ payload, metadata, tenant: tenant ?? principal.tenant, at });
  }
  return ok(events);
}

/** The event's JSON text without `id` and `createdAt`, which the log adds. Only the owner publishes to a topic. */
export function encodeEvent(event: NamedEvent, { owner, eventType }: TopicId): NewEvent {
  const { tenant, payload, metadata } = event;
  const text = JSON.stringify({ tenant, sourceClient: owner, eventType, payload, metadata });
  return { text: text.slice(1), payloadBytes: Buffer.byteLength(payload) };
}

function tooLarge(payload: string, metadata: PublishedEvent["metadata"], at: string): Failure | undefined {
  const { maxPayloadBytes, maxMetadataBytes } = PUBLISH;
  if (Buffer.byteLength(payload) > maxPayloadBytes)
    return { kind: "too_large", field: `${at}payload`, what: "The payload", maxBytes: maxPayloadBytes };
  if (metadata !== undefined && Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes)
    return { kind: "too_large", field: `${at}metadata`, what: "The metadata", maxBytes: maxMetadataBytes };
  return undefined;
}

const eventObject = z.object({
  payload: z.string("must be a string; send JSON as text, as JSON.stringify makes it"),
  metadata: z.optional(stringMap),
  tenant: z.optional(matching(PATTERNS.tenant)),
});
const eventArray = z.array(eventObject);
