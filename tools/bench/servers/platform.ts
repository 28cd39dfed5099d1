import { applyMigrations } from "../../../scripts/lib/local/database.ts";
import { serve } from "../../../scripts/lib/local/server.ts";
import { readSettings } from "../../../scripts/lib/local/settings.ts";
import { startService } from "../gateway/service.ts";
import { offer } from "../lib/offer.ts";
import { fillArchive, makeCopies, type Archive, type Copies } from "../media/archive.ts";
import { rowsReadFor, type PageRead } from "../media/rows-read.ts";

/** A request of the bench to the server's process, past HTTP; one of them at a time. */
export interface Question {
  /** Brings an archive to its number of files. */
  readonly fill?: Archive;
  readonly copy?: Copies;
  /** Answers how many rows D1 reads for a page. */
  readonly countRows?: PageRead;
  /** Runs the cron as if it were that time. */
  readonly cronAtMs?: number;
  /** Starts the service behind the gateway once; answers its address. */
  readonly service?: true;
  /** Answers the size of the database, in bytes. */
  readonly databaseSize?: true;
}

/** Plinth, empty. `BENCH_MAIN` names another Worker in place of the platform's. */
await offer(async ({ port, stateDir }) => {
  const settings = readSettings({ ...process.env, PORT: String(port), STATE_DIR: stateDir });
  const main = process.env["BENCH_MAIN"];
  const server = await serve(settings, main === undefined ? undefined : { main, vars: {} });
  const db = await server.getD1Database("DB");
  await applyMigrations(db);
  const { platform, pathPrefix, operatorSecret, queryRowBudget } = settings.config;
  let source: Promise<string> | undefined;
  return {
    facts: { platform, pathPrefix, operatorSecret },
    stop: () => server.dispose(),
    async answer({ fill, copy, countRows, cronAtMs, service, databaseSize }: Question) {
      if (fill !== undefined) await fillArchive(db, fill);
      if (copy !== undefined) await makeCopies(db, copy);
      if (cronAtMs !== undefined) {
        const worker = await server.getWorker();
        await worker.scheduled({ cron: "*/5 * * * *", scheduledTime: new Date(cronAtMs) });
      }
      if (countRows !== undefined) return rowsReadFor(db, queryRowBudget, countRows);
      if (service !== undefined) return (source ??= startService());
      return databaseSize === undefined ? undefined : (await db.prepare("SELECT 1").run()).meta.size_after;
    },
  };
});
