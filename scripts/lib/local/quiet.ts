import { Log, LogLevel } from "miniflare";

/** Options of a Miniflare that says nothing but warnings, asks nobody and tells nobody. */
export const QUIET = {
  cf: false,
  log: new Log(LogLevel.WARN),
  logRequests: false,
  telemetry: { enabled: false },
  enableDevRegistry: false,
  unsafeObservability: false,
  unsafeLocalExplorer: false,
} as const;
