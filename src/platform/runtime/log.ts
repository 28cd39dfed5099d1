/**
 * Writes one JSON object per line to the console. Never pass a secret, token, password or signed link.
 */
export interface Log {
  /** For successes that are as frequent as requests. Written only if the deployment sets the level `debug`. */
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Longer fields are cut: a reason may contain a caller's input, and the console drops lines that are too long. */
const MAX_FIELD_CHARS = 8_192;

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function createLog(lowest: LogLevel): Log {
  const line = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(lowest)) return () => {};
    return (event: string, fields: LogFields = {}) =>
      console[level](JSON.stringify({ level, event, ...fields }, cut).replaceAll(STEERING, escape));
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

const cut = (_: string, value: unknown): unknown =>
  typeof value === "string" && value.length > MAX_FIELD_CHARS ? `${value.slice(0, MAX_FIELD_CHARS)}…` : value;

/** Characters that JSON does not escape and that could manipulate a terminal: controls, directions, separators. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const escape = (char: string): string =>
  char.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The text of a thrown value, only for the log: it must not leave the Worker. */
export function describeError(thrown: unknown): string {
  if (thrown instanceof Error) {
    const cause = thrown.cause === undefined ? "" : `\ncaused by ${describeError(thrown.cause)}`;
    return `${thrown.name}: ${thrown.message}\n${thrown.stack ?? ""}${cause}`;
  }
  return String(thrown);
}

/** The thrown value on one line, with its causes and without a stack: for a list of failures. */
export function summarize(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown).slice(0, MAX_SUMMARY_CHARS);
  const cause = thrown.cause === undefined ? "" : ` (${summarize(thrown.cause)})`;
  return `${thrown.message}${cause}`.replaceAll(/\s+/g, " ").slice(0, MAX_SUMMARY_CHARS);
}

const MAX_SUMMARY_CHARS = 500;
