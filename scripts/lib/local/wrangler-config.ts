import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { ROOT } from "../root.ts";

/** Parts of wrangler.toml, which wrangler itself would take most of a second to read. */
export interface WranglerConfig {
  readonly vars: Readonly<Record<string, string>>;
  readonly r2_buckets: readonly { readonly bucket_name: string }[];
  readonly triggers: { readonly crons: readonly string[] };
}

export const readWranglerConfig = (): WranglerConfig =>
  parse(readFileSync(join(ROOT, "wrangler.toml"), "utf8")) as unknown as WranglerConfig;
