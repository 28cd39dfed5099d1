import { LOG_LEVELS, type Log, type LogFields } from "../../../src/platform/runtime/log.ts";

/**
 * The log of a room that a test makes by itself: log-watch.ts hears it as it hears the Worker's, and shows none of it,
 * faults neither, since such tests make them on purpose.
 */
export const heardLog = Object.fromEntries(
  LOG_LEVELS.map((level) => [
    level,
    (event: string, fields: LogFields = {}) => console.info(JSON.stringify({ level, event, ...fields })),
  ]),
) as unknown as Log;
