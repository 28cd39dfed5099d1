import { applyMigrations } from "../../../../scripts/lib/database.ts";
import { offerWorker } from "../../lib/offer-worker.ts";
import { fillArchive, makeCopies } from "../archive.ts";
import type { Question } from "../questions.ts";

/** On the platform's own tables, with its indexes and triggers. */
await offerWorker("tools/bench/media/bare/wrangler.toml", async (server) => {
  const db = await server.getD1Database("DB");
  await applyMigrations(db);
  return {
    async answer({ fill, copy }: Question) {
      if (fill !== undefined) await fillArchive(db, fill);
      if (copy !== undefined) await makeCopies(db, copy);
    },
  };
});
