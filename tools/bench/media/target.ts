import { openPlatform } from "../lib/platform.ts";
import { bareWorker, type ServerModule } from "../lib/server-module.ts";
import type { Server } from "../lib/server.ts";

export const BARE: ServerModule = { ...bareWorker("media"), stateOn: "disk" };

/** A server of media. */
export interface Target {
  readonly server: Server;
  /** Path of the media service. */
  readonly base: string;
  /** Headers of a client's request; tokens expire. */
  authorize(client: Client): Promise<Record<string, string>>;
}

/** One uploads. The other one's files exist already (media/archive.ts). */
export const CLIENTS = { uploader: "bench.uploader", archivist: "bench.archivist" } as const;
export type Client = keyof typeof CLIENTS;

/** Plinth with its clients. */
export async function openPlinth(server: Server): Promise<Target> {
  const { prefix, client } = await openPlatform(server);
  const scopes = ["media_view", "media_manage"];
  const clients = { uploader: await client("uploader", scopes), archivist: await client("archivist", scopes) };
  return { server, base: `${prefix}/media/v2`, authorize: (name) => clients[name].authorize() };
}

/** The baseline checks nobody: a header names the caller. */
export const openBare = (server: Server): Target => ({
  server,
  base: "/media/v2",
  authorize: async (client) => ({ "bench-client": CLIENTS[client] }),
});
