import { LOG_LEVELS, type Log, type LogFields } from "../../../src/platform/runtime/log.ts";

/**
 * The log of a service that a test creates itself. log-watch.ts searches it for secrets as it does the Worker's log,
 * but shows nothing of it, not even errors, because such tests cause them on purpose.
 */
export const heardLog = Object.fromEntries(
  LOG_LEVELS.map((level) => [
    level,
    (event: string, fields: LogFields = {}) => console.info(JSON.stringify({ level, event, ...fields })),
  ]),
) as unknown as Log;
