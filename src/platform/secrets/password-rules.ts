import { comparedForm, type CommonPasswords } from "./common-passwords.ts";
import { PASSWORD_CHARS } from "./password-hash.ts";

/**
 * Rules for new passwords (NIST SP 800-63B 3.1.1.2): the length, no common password, and nothing from the account
 * itself. There are no rules of composition.
 */
export type PasswordFault = "length" | "common" | "own";

/** Digits and signs around a word, which do not hide it: `ada1990!` */
const AROUND = /^[^\p{L}]+|[^\p{L}]+$/gu;
/** Minimum length of a word of the account that a password must not be. */
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
/** Maximum length of a piece that a password must not just repeat. */
const MAX_PIECE_CHARS = 4;

/** `platform`: names of the platform, which the password must not be. */
export interface PasswordOwner {
  readonly email: string;
  readonly platform: readonly string[];
}

/** All rules. */
export const newPasswordFault = async (
  password: string,
  owner: PasswordOwner,
  common: CommonPasswords,
): Promise<PasswordFault | undefined> =>
  passwordFault(password, owner) ?? ((await common.has(password)) ? "common" : undefined);

/** The rules that need no list. The command line checks them before it sends anything. */
export function passwordFault(password: string, { email, platform }: PasswordOwner): PasswordFault | undefined {
  if (password.length < PASSWORD_CHARS.min || password.length > PASSWORD_CHARS.max) return "length";
  const text = comparedForm(password);
  const [local = "", host = ""] = email.split("@");
  const own = [email, local, host, ...local.split(/[^\p{L}\p{N}]+/u), ...host.split("."), ...platform];
  const words = new Set([...own, ...own.map(bare)].filter((word) => word.length >= MIN_WORD_CHARS));
  if (words.has(text) || words.has(bare(text))) return "own";
  return isSimple(text) ? "common" : undefined;
}

const bare = (text: string): string => text.replaceAll(AROUND, "");

/** True for a repeated piece, and for a part of a row of the keyboard, the alphabet or the digits. */
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
