import { Log, LogLevel } from "miniflare";

/** Options of a Miniflare that prints only warnings and makes no network requests of its own. */
export const QUIET = {
  cf: false,
  log: new Log(LogLevel.WARN),
  logRequests: false,
  telemetry: { enabled: false },
  enableDevRegistry: false,
  unsafeObservability: false,
  unsafeLocalExplorer: false,
} as const;
