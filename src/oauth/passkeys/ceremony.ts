import * as z from "zod/mini";
import { fromBase64Url, fromUtf8, joinBytes } from "../../platform/text/encoding.ts";
import { sha256, sha256Hex } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { dataOfAttestation, readAuthenticatorData, type AuthenticatorData } from "./authenticator-data.ts";
import type { Challenge } from "./challenge.ts";
import type { RelyingParty } from "./relying-party.ts";
import { verifySignature, type StoredKey } from "./public-key.ts";

/**
 * The checks of WebAuthn 7.1 (a new passkey) and 7.2 (an answer of one), in the order in which they are made. Each
 * refusal is a reason for the log.
 *
 * The attestation of a new passkey is not read: the pages request `none`, so any model of authenticator is accepted.
 */
export interface NewCredential {
  readonly id: string;
  readonly publicKey: StoredKey;
  readonly signCount: number;
  readonly mayBeBackedUp: boolean;
  readonly isBackedUp: boolean;
  readonly transports: readonly string[];
}

/** An answer of a passkey, as the page's script sends it. Bytes are in base64url. */
export interface Assertion {
  readonly id: string;
  readonly clientData: string;
  readonly authenticatorData: string;
  readonly signature: string;
  /** Absent for a passkey that was asked for by its id. */
  readonly userHandle?: string | undefined;
}

/** The passkey as it is stored. */
export interface Verifier {
  readonly publicKey: StoredKey;
  readonly userHandle: string;
  readonly mayBeBackedUp: boolean;
  readonly signCount: number;
}

/** Our limits: the fields are far smaller. */
const MAX_CHARS = 8 * 1024;
const MAX_TRANSPORTS = 8;
const text = z.string().check(z.maxLength(MAX_CHARS));
const assertion = z.object({
  id: text,
  clientData: text,
  authenticatorData: text,
  signature: text,
  userHandle: z.optional(text),
});
const attestation = z.object({
  id: text,
  clientData: text,
  attestation: text,
  transports: z.array(z.string().check(z.regex(/^[a-z-]{1,32}$/))).check(z.maxLength(MAX_TRANSPORTS)),
});
const clientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.optional(z.boolean()),
  topOrigin: z.optional(z.string()),
});

/** The answer of a passkey, unchecked. Its id finds the stored one. */
export function readAssertion(json: string): Assertion | undefined {
  const read = assertion.safeParse(parseJson(json));
  return read.success ? read.data : undefined;
}

export async function verifyAttestation(
  json: string,
  challenge: Challenge,
  site: RelyingParty,
): Promise<Result<NewCredential, string>> {
  const sent = attestation.safeParse(parseJson(json));
  if (!sent.success) return err("the answer has not the form of a new passkey");
  const client = readClientData(sent.data.clientData, "webauthn.create", challenge, site);
  if (!client.ok) return client;
  const object = fromBase64Url(sent.data.attestation);
  const bytes = object && dataOfAttestation(object);
  const data = bytes && (await readAuthenticatorData(bytes));
  if (data === undefined) return err("the authenticator's data are malformed, or of an unknown algorithm");
  const fault = await faultOf(data, site);
  if (fault !== undefined) return err(fault);
  const { credential, signCount, mayBeBackedUp, isBackedUp } = data;
  if (credential === undefined || credential.id !== sent.data.id) return err("the answer names another passkey");
  return ok({ ...credential, signCount, mayBeBackedUp, isBackedUp, transports: sent.data.transports });
}

/** Returns the counter and the backup flag of this use. */
export async function verifyAssertion(
  sent: Assertion,
  stored: Verifier,
  challenge: Challenge,
  site: RelyingParty,
): Promise<Result<Pick<AuthenticatorData, "signCount" | "isBackedUp">, string>> {
  if (sent.userHandle !== undefined && sent.userHandle !== stored.userHandle) return err("it is of another person");
  const client = readClientData(sent.clientData, "webauthn.get", challenge, site);
  if (!client.ok) return client;
  const [bytes, signature] = [fromBase64Url(sent.authenticatorData), fromBase64Url(sent.signature)];
  const data = bytes && (await readAuthenticatorData(bytes));
  if (bytes === undefined || data === undefined || signature === undefined)
    return err("the authenticator's data are malformed");
  const fault = await faultOf(data, site);
  if (fault !== undefined) return err(fault);
  if (data.mayBeBackedUp !== stored.mayBeBackedUp) return err("the flag BE has changed");
  const signed = joinBytes([bytes, await sha256(client.value)]);
  if (!(await verifySignature(stored.publicKey, signature, signed))) return err("the signature is wrong");
  const { signCount, isBackedUp } = data;
  if (signCount + stored.signCount > 0 && signCount <= stored.signCount)
    return err(`the counter went from ${stored.signCount} to ${signCount}: there may be a copy of the passkey`);
  return ok({ signCount, isBackedUp });
}

/** The bytes that are signed. */
function readClientData(
  encoded: string,
  type: "webauthn.create" | "webauthn.get",
  challenge: Challenge,
  site: RelyingParty,
): Result<Uint8Array<ArrayBuffer>, string> {
  const bytes = fromBase64Url(encoded);
  const read = clientData.safeParse(parseJson((bytes && fromUtf8(bytes)) ?? ""));
  if (bytes === undefined || !read.success) return err("the browser's data are malformed");
  const { origin, crossOrigin = false, topOrigin } = read.data;
  if (read.data.type !== type) return err("it is the answer to another request");
  if (read.data.challenge !== challenge.text) return err("it is the answer to another challenge");
  if (origin !== site.origin) return err("it was made on a page of another origin");
  return crossOrigin || topOrigin !== undefined ? err("it was made in a frame of another site") : ok(bytes);
}

async function faultOf(data: AuthenticatorData, { id }: RelyingParty): Promise<string | undefined> {
  if (data.rpIdHash !== (await sha256Hex(id))) return "it is of another domain";
  if (!data.isPresent) return "nobody was there";
  return data.isVerified ? undefined : "the authenticator did not verify the person";
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
