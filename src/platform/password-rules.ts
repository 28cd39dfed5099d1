import { isCommon } from "./common-passwords.ts";
import { normalizedPassword, PASSWORD_CHARS } from "./password-hash.ts";

/**
 * What a new password may not be (NIST SP 800-63B 3.1.1.2): of another length, what everybody tries first, or what stands in
 * the account. There are no rules of composition.
 */
export type PasswordFault = "length" | "common" | "own";

/** Digits and signs around a word make no other word of it: `ada1990!` */
const AROUND = /^[^\p{L}]+|[^\p{L}]+$/gu;
/** Shorter words stand in too many passwords. */
const MIN_WORD_CHARS = 3;
const ROWS = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890",
  "qwertyuiop",
  "qwertzuiop",
  "azertyuiop",
  "asdfghjkl",
  "yxcvbnm",
];
const SEQUENCES = [...ROWS, ...ROWS.map((row) => Array.from(row).toReversed().join(""))];
/** A password of one piece again and again, or of pieces of this length that all stand in a row. */
const MAX_PIECE_CHARS = 4;

/** `platform`: the names of what it is a password for. */
export function passwordFault(
  password: string,
  { email, platform }: { readonly email: string; readonly platform: readonly string[] },
): PasswordFault | undefined {
  if (password.length < PASSWORD_CHARS.min || password.length > PASSWORD_CHARS.max) return "length";
  const text = normalizedPassword(password).toLowerCase();
  const [local = "", host = ""] = email.split("@");
  const own = [email, local, host, ...local.split(/[^\p{L}\p{N}]+/u), ...host.split("."), ...platform];
  const words = new Set([...own, ...own.map(bare)].filter((word) => word.length >= MIN_WORD_CHARS));
  if (words.has(text) || words.has(bare(text))) return "own";
  return isCommon(text) || isSimple(text) ? "common" : undefined;
}

const bare = (text: string): string => text.replaceAll(AROUND, "");

/** The same piece again and again, or a way along the keyboard, the alphabet or the digits. */
function isSimple(text: string): boolean {
  if (SEQUENCES.some((row) => row.includes(text))) return true;
  for (let length = 1; length <= MAX_PIECE_CHARS; length++)
    if (
      text ===
      text
        .slice(0, length)
        .repeat(Math.ceil(text.length / length))
        .slice(0, text.length)
    )
      return true;
  return false;
}
