import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { QUIET } from "../../../scripts/lib/local/quiet.ts";

/** Workers in this process over the state in a folder, which say nothing but warnings. Port 0: none for requests. */
export async function quietRuntime(state: string, port: number, workers: readonly object[]): Promise<Miniflare> {
  const server = new Miniflare(
    convertV4MiniflareOptions({
      workers: workers as any,
      resourcePersistencePath: state,
      host: "127.0.0.1",
      port,
      ...QUIET,
    }),
  );
  await server.ready;
  return server;
}
