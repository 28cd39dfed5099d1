import { applyMigrations } from "../../scripts/lib/database.ts";
import { serve } from "../../scripts/lib/server.ts";
import { readSettings } from "../../scripts/lib/settings.ts";
import { offer } from "./offer.ts";

/** The platform as `npm start` serves it, empty. */
await offer(async ({ port, stateDir }) => {
  const settings = readSettings({ ...process.env, PORT: String(port), STATE_DIR: stateDir });
  const server = await serve(settings);
  await applyMigrations(await server.getD1Database("DB"));
  const { platform, pathPrefix, operatorSecret } = settings.config;
  return { facts: { platform, pathPrefix, operatorSecret }, stop: () => server.dispose() };
});
