import { toBase64 } from "../../../platform/text/encoding.ts";
import type { Random } from "../../../platform/runtime/random.ts";
import type { Sealer } from "../../../platform/secrets/seal.ts";
import { SUBSCRIPTION } from "../../model/limits.ts";
import type { PushRecord } from "./record.ts";

/** The credentials of a delivery: Basic Auth and a signature. */
export interface PushCredentials {
  readonly password: string;
  /** `whsec_` and base64 of 24 random bytes (Standard Webhooks). */
  readonly signingSecret: string;
  /** Secrets before the last rotations, the newest first. */
  readonly previous?: readonly PreviousSecret[];
}

/** A replaced signing secret, which still signs until `untilMs`. */
export interface PreviousSecret {
  readonly signingSecret: string;
  readonly untilMs: number;
}

/** Credentials as stored: one sealed JSON text that opens only for this record's id. */
export type SealedCredentials = Pick<PushRecord, "credentials" | "sealKey">;

/** Creates the credentials of a new subscription, with its own signing secret. */
export async function makeCredentials(
  { sealer, random }: { readonly sealer: Sealer; readonly random: Random },
  id: string,
  password: string,
): Promise<{ readonly sealed: SealedCredentials; readonly signingSecret: string }> {
  const signingSecret = newSecret(random);
  return { sealed: await sealCredentials(sealer, id, { password, signingSecret }), signingSecret };
}

/** Opens the credentials. Undefined if they belong to another record or their key is not configured. */
export async function findCredentials(sealer: Sealer, record: OfRecord): Promise<PushCredentials | undefined> {
  const opened = await sealer.open(record.credentials, contextOf(record.id));
  return opened === undefined ? undefined : (JSON.parse(opened) as PushCredentials);
}

/** Opens the credentials. Throws if they do not open. */
export async function openCredentials(sealer: Sealer, record: OfRecord): Promise<PushCredentials> {
  const opened = await findCredentials(sealer, record);
  if (opened === undefined) throw new Error(`the credentials of push subscription ${record.id} do not open`);
  return opened;
}

/** Seals the same signing secret with another password, or the same one, under the current key. */
export async function changePassword(sealer: Sealer, record: OfRecord, password?: string): Promise<SealedCredentials> {
  const before = await openCredentials(sealer, record);
  return sealCredentials(sealer, record.id, { ...before, password: password ?? before.password });
}

/**
 * Seals another signing secret. The replaced one signs beside it until `lastUntilMs`; undefined: it and earlier ones
 * end at once. Earlier ones otherwise keep their time, so a client that lost an answer can rotate again and its
 * receiver misses nothing.
 */
export async function rotateSecret(
  { sealer, random }: { readonly sealer: Sealer; readonly random: Random },
  { id }: OfRecord,
  { password, signingSecret: last, previous = [] }: PushCredentials,
  lastUntilMs: number | undefined,
  nowMs: number,
): Promise<{ readonly sealed: SealedCredentials; readonly signingSecret: string }> {
  const signingSecret = newSecret(random);
  const valid = previous.filter(({ untilMs }) => nowMs < untilMs);
  const kept =
    lastUntilMs === undefined
      ? []
      : [{ signingSecret: last, untilMs: lastUntilMs }, ...valid].slice(0, SUBSCRIPTION.previousSecrets);
  return { sealed: await sealCredentials(sealer, id, { password, signingSecret, previous: kept }), signingSecret };
}

type OfRecord = Pick<PushRecord, "id" | "credentials">;

const SIGNING_SECRET_BYTES = 24;

const newSecret = (random: Random): string => `whsec_${toBase64(random.bytes(SIGNING_SECRET_BYTES))}`;

const contextOf = (id: string): string => `push_subscription/${id}`;

async function sealCredentials(sealer: Sealer, id: string, credentials: PushCredentials): Promise<SealedCredentials> {
  return { credentials: await sealer.seal(JSON.stringify(credentials), contextOf(id)), sealKey: sealer.keyId };
}
