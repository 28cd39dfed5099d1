import { fromBase64, fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../text/encoding.ts";
import type { Random } from "../runtime/random.ts";
import { err, ok, type Result } from "../model/result.ts";

/**
 * Encryption of small secrets at rest, and keys for signed links.
 *
 * A sealed text is `<key id>.<iv>.<ciphertext>` (AES-256-GCM, 96-bit random iv, the parts after the id in base64url).
 * `context` names the row that the text belongs to: a sealed text copied to another row does not open.
 * The first configured key seals, and every configured key opens. To rotate, put a new key first.
 */
export interface Sealer {
  /** The id of the sealing key. Texts under another key must be sealed anew before that key may be removed. */
  readonly keyId: string;
  /** The ids of all keys that open, the sealing one first. */
  readonly keyIds: readonly string[];
  seal(plain: string, context: string): Promise<string>;
  /** The plain text; undefined if the sealed text was changed or moved, or its key is not configured. */
  open(sealed: string, context: string): Promise<string | undefined>;
  /** HMAC-SHA-256 keys for one purpose (HKDF), the current one first. */
  macKeys(purpose: string): Promise<readonly CryptoKey[]>;
}

export interface SealKey {
  readonly id: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Parses `SEAL_KEYS`: `<id>:<base64 of 32 bytes>[,…]`. */
export function parseSealKeys(text: string): Result<readonly SealKey[], string> {
  const keys: SealKey[] = [];
  for (const item of text.split(",")) {
    const [id = "", encoded = ""] = item.trim().split(":");
    const bytes = fromBase64(encoded);
    if (!/^[a-z0-9]{1,16}$/.test(id) || bytes?.length !== 32)
      return err("each item of SEAL_KEYS is <id of a-z and 0-9>:<base64 of 32 bytes>");
    if (keys.some((key) => key.id === id)) return err(`SEAL_KEYS names the id ${id} twice`);
    keys.push({ id, bytes });
  }
  return ok(keys);
}

export function createSealer(keys: readonly SealKey[], random: Random): Sealer {
  const current = keys[0];
  if (current === undefined) throw new Error("a sealer needs a key");
  const aesKeys = new Map<string, CryptoKey>();
  const macs = new Map<string, readonly CryptoKey[]>();

  const aesKey = (key: SealKey): Promise<CryptoKey> =>
    remember(aesKeys, key.id, () => derive(key, "seal", { name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]));

  return {
    keyId: current.id,
    keyIds: keys.map(({ id }) => id),
    async seal(plain, context) {
      const iv = random.bytes(12);
      const algorithm = { name: "AES-GCM", iv, additionalData: utf8(context) };
      const data = await crypto.subtle.encrypt(algorithm, await aesKey(current), utf8(plain));
      return `${current.id}.${toBase64Url(iv)}.${toBase64Url(new Uint8Array(data))}`;
    },
    async open(sealed, context) {
      const [id, ivText = "", dataText = ""] = sealed.split(".");
      const key = keys.find((candidate) => candidate.id === id);
      const iv = fromBase64Url(ivText);
      const data = fromBase64Url(dataText);
      if (key === undefined || iv === undefined || data === undefined) return undefined;
      try {
        const algorithm = { name: "AES-GCM", iv, additionalData: utf8(context) };
        return fromUtf8(new Uint8Array(await crypto.subtle.decrypt(algorithm, await aesKey(key), data)));
      } catch {
        return undefined;
      }
    },
    macKeys: (purpose) =>
      remember(macs, purpose, () =>
        Promise.all(
          keys.map((key) =>
            derive(key, `mac:${purpose}`, { name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]),
          ),
        ),
      ),
  };
}

/** An HMAC by each key. It shows whether another deployment has the same key, and nothing else. */
export async function keyProofs({ keyIds, macKeys }: Sealer): Promise<readonly { id: string; proof: string }[]> {
  const keys = await macKeys("proof of a key");
  const proofs = await Promise.all(keys.map((key) => crypto.subtle.sign("HMAC", key, utf8("the same key"))));
  return keyIds.map((id, at) => ({ id, proof: toBase64Url(new Uint8Array(proofs[at]!)) }));
}

async function derive(
  key: SealKey,
  purpose: string,
  algorithm: { name: string; length: number; hash?: string },
  usages: string[],
): Promise<CryptoKey> {
  const master = await crypto.subtle.importKey("raw", key.bytes, "HKDF", false, ["deriveKey"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: utf8(purpose) };
  return crypto.subtle.deriveKey(hkdf, master, algorithm, false, usages);
}

/** Keeps values, never promises: a promise belongs to the request that made it. */
async function remember<V>(kept: Map<string, V>, key: string, make: () => Promise<V>): Promise<V> {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = await make();
  kept.set(key, made);
  return made;
}
