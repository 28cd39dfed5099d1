import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMON, bitPositionsOf, comparedForm, FILTER_PATH } from "../src/platform/secrets/common-passwords.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `node scripts/common-passwords.ts <file>` makes site/unbuilt/common-passwords.bin again: a Bloom filter of the most
 * common passwords in a published list. The list itself is not in the repository; its digest identifies it.
 *
 * The file is Passwords/Common-Credentials/xato-net-10-million-passwords-100000.txt of SecLists
 * (github.com/danielmiessler/SecLists, commit c205c36a445bff37f8e58a9ec829105cd4975c58, MIT). SecLists made it of "10
 * million passwords" by Mark Burnett, 2015. common-passwords.LICENSE.txt beside the filter is the notice.
 */
const SHA256 = "1472aafa2561df5e3293aee252aee3ca660c12b399a283cf808bb01b39be388b";
const FILE = join(ROOT, "site", "unbuilt", FILTER_PATH);

const [list] = process.argv.slice(2);
if (list === undefined) throw new Error("usage: node scripts/common-passwords.ts <file>");
const bits = new Uint8Array(COMMON.filterBits / 8);
const passwords = commonest(readFileSync(list));
if (passwords.length !== COMMON.entries) throw new Error(`${passwords.length} passwords`);
for (const password of passwords)
  for (const place of bitPositionsOf(password)) bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
writeFileSync(FILE, bits);
console.log(`wrote ${FILE}`);

function commonest(file: Buffer): string[] {
  if (createHash("sha256").update(file).digest("hex") !== SHA256) throw new Error(`${list} is another list`);
  const all = file.toString("utf8").split("\n");
  const most = all.filter((one) => one !== "").slice(0, COMMON.ranks);
  return [...new Set(most.map(comparedForm).filter((one) => one.length >= COMMON.minChars))];
}
