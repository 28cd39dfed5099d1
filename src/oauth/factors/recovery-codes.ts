import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { toBase32 } from "./totp.ts";

/** Each is 120 random bits, so a hash of it can be stored without salt or stretching (OWASP ASVS 6.5.2: 112). */
const COUNT = 10;
const BYTES = 15;
/** As people type it, without spaces and hyphens. */
export const RECOVERY_CODE = /^[a-z2-7]{24}$/i;

export const newRecoveryCodes = (random: Random): readonly string[] =>
  Array.from({ length: COUNT }, () => (toBase32(random.bytes(BYTES)).toLowerCase().match(/.{4}/g) ?? []).join("-"));

/** `code`: of the form above. */
export const recoveryHash = (email: string, code: string): Promise<string> =>
  sha256Hex(`recovery code of ${email}: ${code.toLowerCase()}`);

export const recoveryHashes = (email: string, codes: readonly string[]): Promise<readonly string[]> =>
  Promise.all(codes.map((code) => recoveryHash(email, code.replaceAll("-", ""))));
