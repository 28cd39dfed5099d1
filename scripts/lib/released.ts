import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { ROOT } from "./root.ts";

/** The last release, as scripts/release.ts keeps it. */
export const RELEASED = join(ROOT, "test", "upgrade", "released");

export interface Released {
  readonly version: string;
  readonly commit: string;
  readonly bundleSha256: string;
  /** The digest of each migration's file, by its name. */
  readonly migrations: Readonly<Record<string, string>>;
}

export const readReleased = (): Released =>
  JSON.parse(readFileSync(join(RELEASED, "release.json"), "utf8")) as Released;

/** The Worker's one module, as it was uploaded. */
export const readReleasedBundle = (): Buffer => gunzipSync(readFileSync(join(RELEASED, "worker.js.gz")));
