import { join } from "node:path";
import { bundleWorker } from "../../../scripts/lib/bundle.ts";
import { applyMigrations } from "../../../scripts/lib/local/database.ts";
import { readBindings, startRuntime } from "../../../scripts/lib/local/server.ts";
import { startService } from "../gateway/service.ts";
import { offer } from "../lib/offer.ts";
import { fillArchive, makeCopies } from "../media/archive.ts";
import type { Question } from "./platform.ts";

/** The Worker of the wrangler.toml that `BENCH_CONFIG` names. The first archive makes the platform's own tables. */
await offer(async (place) => {
  const config = process.env["BENCH_CONFIG"] ?? "";
  const bundle = await bundleWorker(join(place.stateDir, "bundle"), { minify: false, config });
  const server = await startRuntime({ ...(await readBindings(config)), name: "bare" }, bundle, place);
  let source: Promise<string> | undefined;
  return {
    stop: () => server.dispose(),
    async answer({ fill, copy, service }: Pick<Question, "fill" | "copy" | "service">) {
      if (service !== undefined) return (source ??= startService());
      const db = await server.getD1Database("DB");
      await applyMigrations(db);
      if (fill !== undefined) await fillArchive(db, fill);
      return copy === undefined ? undefined : makeCopies(db, copy);
    },
  };
});
