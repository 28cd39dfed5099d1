import { startService } from "../gateway/service.ts";
import { offerPlatform } from "../lib/offer-platform.ts";
import { fillArchive, makeCopies } from "../media/archive.ts";
import type { Question } from "./questions.ts";

await offerPlatform(
  async (server) => {
    const db = await server.getD1Database("DB");
    return {
      async answer({ fill, copy, cronAtMs, service, databaseSize }: Question) {
        if (fill !== undefined) await fillArchive(db, fill);
        if (copy !== undefined) await makeCopies(db, copy);
        if (cronAtMs !== undefined) {
          const worker = await server.getWorker();
          await worker.scheduled({ cron: "*/5 * * * *", scheduledTime: new Date(cronAtMs) });
        }
        if (service !== undefined) return startService();
        return databaseSize === undefined ? undefined : (await db.prepare("SELECT 1").run()).meta.size_after;
      },
    };
  },
  { main: "tools/bench/cost/worker.ts", vars: {} },
);
