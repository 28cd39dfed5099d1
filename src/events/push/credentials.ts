import { toBase64 } from "../../platform/encoding.ts";
import type { Random } from "../../platform/random.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { PushRecord } from "./record.ts";

/** What a delivery proves itself with: Basic Auth towards the endpoint, and a signature. */
export interface PushCredentials {
  readonly password: string;
  /** `whsec_` and base64 of 24 random bytes (Standard Webhooks). */
  readonly signingSecret: string;
}

/** Both as the record keeps them: one sealed JSON text, which opens in the row of this id alone. */
export type SealedCredentials = Pick<PushRecord, "credentials" | "sealKey">;

/** The credentials of a new subscription, with a signing secret of its own. */
export async function makeCredentials(
  { sealer, random }: { readonly sealer: Sealer; readonly random: Random },
  id: string,
  password: string,
): Promise<{ readonly sealed: SealedCredentials; readonly signingSecret: string }> {
  const signingSecret = `whsec_${toBase64(random.bytes(SIGNING_SECRET_BYTES))}`;
  return { sealed: await sealCredentials(sealer, id, { password, signingSecret }), signingSecret };
}

/** Undefined when they were moved from another row, or their key is no longer configured. */
export async function findCredentials(sealer: Sealer, record: OfRecord): Promise<PushCredentials | undefined> {
  const opened = await sealer.open(record.credentials, contextOf(record.id));
  return opened === undefined ? undefined : (JSON.parse(opened) as PushCredentials);
}

/** Throws when they do not open. */
export async function openCredentials(sealer: Sealer, record: OfRecord): Promise<PushCredentials> {
  const opened = await findCredentials(sealer, record);
  if (opened === undefined) throw new Error(`the credentials of push subscription ${record.id} do not open`);
  return opened;
}

/** The same signing secret beside another password (the same where none is given), under the key that seals now. */
export async function changePassword(sealer: Sealer, record: OfRecord, password?: string): Promise<SealedCredentials> {
  const before = await openCredentials(sealer, record);
  return sealCredentials(sealer, record.id, { ...before, password: password ?? before.password });
}

type OfRecord = Pick<PushRecord, "id" | "credentials">;

const SIGNING_SECRET_BYTES = 24;

const contextOf = (id: string): string => `push_subscription/${id}`;

async function sealCredentials(sealer: Sealer, id: string, credentials: PushCredentials): Promise<SealedCredentials> {
  return { credentials: await sealer.seal(JSON.stringify(credentials), contextOf(id)), sealKey: sealer.keyId };
}
