import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/root.ts";
import { migrationNames, plainSql } from "../tools/deploy/migrations.ts";

/**
 * `npm run schema` writes the migrations into a file of the Worker, which applies them to shards that are objects. A
 * test fails while the file differs from migrations/.
 */
const PATH = "src/platform/storage/migrations.json";

const migrations = migrationNames().map((name) => ({
  name,
  sql: plainSql(readFileSync(join(ROOT, "migrations", name), "utf8")),
}));
writeFileSync(join(ROOT, PATH), `[\n${migrations.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`);
console.log(`wrote ${PATH}, ${migrations.length} migrations`);
