import { decodeCBOR, decodePartialCBOR } from "@levischuck/tiny-cbor";
import { toBase64Url, toHex } from "../../platform/text/encoding.ts";
import { importKey, readCoseKey, type StoredKey } from "./public-key.ts";

/** Signed by an authenticator, with the browser's data (WebAuthn 6.1). */
export interface AuthenticatorData {
  /** SHA-256 of the relying party's id, in hex. */
  readonly rpIdHash: string;
  /** UP: somebody was there. */
  readonly isPresent: boolean;
  /** UV: the authenticator knows that it was the person. */
  readonly isVerified: boolean;
  /** BE: the passkey may be copied to other devices of the person. */
  readonly mayBeBackedUp: boolean;
  /** BS: it is. */
  readonly isBackedUp: boolean;
  readonly signCount: number;
  /** At its registration. */
  readonly credential: { readonly id: string; readonly publicKey: StoredKey } | undefined;
}

const FLAG = { present: 0x01, verified: 0x04, mayBeBackedUp: 0x08, backedUp: 0x10, credential: 0x40, extensions: 0x80 };
const HASH_BYTES = 32;
const FLAGS_AT = HASH_BYTES;
const COUNT_AT = FLAGS_AT + 1;
const CREDENTIAL_AT = COUNT_AT + 4;
const MODEL_BYTES = 16;
/** WebAuthn 6.5.1. */
const MAX_ID_BYTES = 1023;

/** Undefined if it is malformed, or its key is of no algorithm that we offer. */
export async function readAuthenticatorData(bytes: Uint8Array<ArrayBuffer>): Promise<AuthenticatorData | undefined> {
  try {
    return await read(bytes);
  } catch {
    // The decoder throws if the bytes are not CBOR, the view if there are too few.
    return undefined;
  }
}

async function read(bytes: Uint8Array<ArrayBuffer>): Promise<AuthenticatorData | undefined> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint8(FLAGS_AT);
  const has = (flag: number): boolean => (flags & flag) !== 0;
  let at = CREDENTIAL_AT;
  let credential: AuthenticatorData["credential"];
  if (has(FLAG.credential)) {
    const idLength = view.getUint16(at + MODEL_BYTES);
    const idAt = at + MODEL_BYTES + 2;
    const id = bytes.slice(idAt, idAt + idLength);
    const [cose, keyLength] = decodePartialCBOR(bytes, idAt + idLength);
    const publicKey = cose instanceof Map ? readCoseKey(cose) : undefined;
    if (publicKey === undefined || (await importKey(publicKey)) === undefined) return undefined;
    if (idLength === 0 || idLength > MAX_ID_BYTES || id.length !== idLength) return undefined;
    credential = { id: toBase64Url(id), publicKey };
    at = idAt + idLength + keyLength;
  }
  if (has(FLAG.extensions)) at += decodePartialCBOR(bytes, at)[1];
  if (at !== bytes.length || (has(FLAG.backedUp) && !has(FLAG.mayBeBackedUp))) return undefined;
  return {
    rpIdHash: toHex(bytes.slice(0, HASH_BYTES)),
    isPresent: has(FLAG.present),
    isVerified: has(FLAG.verified),
    mayBeBackedUp: has(FLAG.mayBeBackedUp),
    isBackedUp: has(FLAG.backedUp),
    signCount: view.getUint32(COUNT_AT),
    credential,
  };
}

/** The authenticator data in an attestation object (WebAuthn 6.5.4). */
export function dataOfAttestation(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  try {
    const decoded = decodeCBOR(bytes);
    const data = decoded instanceof Map ? decoded.get("authData") : undefined;
    return data instanceof Uint8Array ? new Uint8Array(data) : undefined;
  } catch {
    return undefined;
  }
}
