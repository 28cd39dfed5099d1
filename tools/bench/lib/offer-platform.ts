import type { Miniflare } from "miniflare";
import { applyMigrations } from "../../../scripts/lib/database.ts";
import { serve, type OtherWorker } from "../../../scripts/lib/server.ts";
import { readSettings } from "../../../scripts/lib/settings.ts";
import type { Config } from "../../../src/config.ts";
import { offer, type Offered } from "./offer.ts";

/** The platform as `npm start` serves it, empty. `prepare`: what its process answers. `other`: see `serve`. */
export const offerPlatform = (
  prepare: (server: Miniflare, config: Config) => Promise<Pick<Offered, "answer">> = async () => ({}),
  other?: OtherWorker,
): Promise<void> =>
  offer(async ({ port, stateDir }) => {
    const settings = readSettings({ ...process.env, PORT: String(port), STATE_DIR: stateDir });
    const server = await serve(settings, other);
    await applyMigrations(await server.getD1Database("DB"));
    const { platform, pathPrefix, operatorSecret } = settings.config;
    const facts = { platform, pathPrefix, operatorSecret };
    return { ...(await prepare(server, settings.config)), facts, stop: () => server.dispose() };
  });
