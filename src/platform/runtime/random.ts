import { toBase64Url, toHex } from "../text/encoding.ts";

/** The source of randomness; a test may pass its own. */
export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>;
}

export const systemRandom: Random = {
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};

/** A credential of 256 bits, as 43 characters of base64url. */
export const randomSecret = (random: Random): string => toBase64Url(random.bytes(32));

/** A random number in [0, 1). */
export const chance = (random: Random): number => new DataView(random.bytes(4).buffer).getUint32(0) / 2 ** 32;

/** An unguessable identifier of 128 bits, as 32 characters of hex. */
export const randomId = (random: Random): string => toHex(random.bytes(16));
