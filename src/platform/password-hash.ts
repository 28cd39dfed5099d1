import { scrypt } from "node:crypto";
import { fromBase64Url, toBase64Url, utf8 } from "./encoding.ts";
import type { Random } from "./random.ts";

/** Cost of one password check (contract 2.6): about 75 ms and 32 MiB. Stored with each hash, so it can rise. */
const COST = { log2N: 15, r: 8, p: 1 } as const;
const KEY_BYTES = 32;

/** `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, salt and key in base64url. */
export async function hashPassword(password: string, random: Random): Promise<string> {
  const salt = random.bytes(16);
  const key = await derive(password, salt, COST.log2N, COST.r, COST.p);
  return `scrypt$${COST.log2N}$${COST.r}$${COST.p}$${toBase64Url(salt)}$${toBase64Url(key)}`;
}

/** Whether the password is the stored one. A stored text that cannot be read answers false. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [scheme, log2N, r, p, saltText = "", keyText = ""] = stored.split("$");
  const salt = fromBase64Url(saltText);
  const expected = fromBase64Url(keyText);
  if (scheme !== "scrypt" || salt === undefined || expected?.length !== KEY_BYTES) return false;
  const key = await derive(password, salt, Number(log2N), Number(r), Number(p));
  return crypto.subtle.timingSafeEqual(key, expected);
}

/** Passwords are compared in one Unicode form, so that the keyboard's way of typing an accent does not matter. */
function derive(
  password: string,
  salt: Uint8Array,
  log2N: number,
  r: number,
  p: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const options = { N: 2 ** log2N, r, p, maxmem: 128 * 2 ** log2N * r * 2 };
  return new Promise((resolve, reject) => {
    scrypt(utf8(password.normalize("NFKC")), salt, KEY_BYTES, options, (error, key) =>
      error === null ? resolve(new Uint8Array(key)) : reject(error),
    );
  });
}
