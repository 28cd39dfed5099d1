import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

/** Workers in this process over the state in a folder, which say nothing but warnings. Port 0: none for requests. */
export async function quietRuntime(state: string, port: number, workers: readonly object[]): Promise<Miniflare> {
  const server = new Miniflare(
    convertV4MiniflareOptions({
      workers: workers as any,
      resourcePersistencePath: state,
      host: "127.0.0.1",
      port,
      cf: false,
      log: new Log(LogLevel.WARN),
      logRequests: false,
      telemetry: { enabled: false },
      enableDevRegistry: false,
      unsafeObservability: false,
      unsafeLocalExplorer: false,
    }),
  );
  await server.ready;
  return server;
}
