import { LOG_LEVELS, type LogLevel } from "./platform/log.ts";
import { PATTERNS } from "./platform/names.ts";
import { parseSealKeys, type SealKey } from "./platform/seal.ts";

/** Every deployment variable, parsed once. A value that makes no sense stops the Worker with its name and reason. */
export interface Config {
  readonly platform: string;
  /** Empty, or starts with a slash and ends without one. */
  readonly pathPrefix: string;
  /** An origin, or empty: the request's own. */
  readonly publicUrl: string;
  /** An origin, or empty: the service's own. */
  readonly contentUrl: string;
  readonly allowLoopback: boolean;
  readonly logLevel: LogLevel;
  readonly eventRetentionMs: number;
  /** What one log of a topic may store. */
  readonly eventLogMaxBytes: number;
  readonly maxUploadBytes: number;
  /** Whether `subscriptionCreated` is published in its deprecated schemas too. */
  readonly deprecatedSubscriptionEvents: boolean;
  readonly operatorSecret: string;
  readonly sealKeys: readonly SealKey[];
}

export type RawConfig = Readonly<Record<string, unknown>>;

export class ConfigError extends Error {
  override name = "ConfigError";
}

const DAY_MS = 86_400_000;
/** Our choice: ten years. */
const MAX_RETENTION_DAYS = 3650;
/** Our choice: from where a log works as it should to where an eighth more still fits an object's 10 GB. */
const LOG_BYTES = { min: 1_000_000, max: 8_800_000_000 } as const;
/** Contract 2.1: a given client secret has at least 32 characters. */
const MIN_SECRET_CHARS = 32;

export function readConfig(raw: RawConfig): Config {
  const sealKeys = parseSealKeys(text(raw, "SEAL_KEYS"));
  if (!sealKeys.ok) throw new ConfigError(`SEAL_KEYS: ${sealKeys.error}`);
  return {
    platform: matching(raw, "PLATFORM", PATTERNS.platform),
    pathPrefix: matching(raw, "PATH_PREFIX", /^(\/[A-Za-z0-9._~-]+)*$/),
    publicUrl: origin(raw, "PUBLIC_URL"),
    contentUrl: origin(raw, "CONTENT_URL"),
    allowLoopback: flag(raw, "ALLOW_LOOPBACK"),
    logLevel: logLevel(raw),
    eventRetentionMs: retentionMs(raw),
    eventLogMaxBytes: logMaxBytes(raw),
    maxUploadBytes: Math.floor(positive(raw, "MAX_UPLOAD_BYTES")),
    deprecatedSubscriptionEvents: flag(raw, "DEPRECATED_SUBSCRIPTION_EVENTS"),
    operatorSecret: matching(raw, "OPERATOR_CLIENT_SECRET", new RegExp(`^[\\x21-\\x7e]{${MIN_SECRET_CHARS},512}$`)),
    sealKeys: sealKeys.value,
  };
}

function text(raw: RawConfig, name: string): string {
  const value = raw[name] ?? "";
  if (typeof value !== "string") throw new ConfigError(`${name} must be a text`);
  return value.trim();
}

function matching(raw: RawConfig, name: string, pattern: RegExp): string {
  const value = text(raw, name);
  if (!pattern.test(value)) throw new ConfigError(`${name} must match ${pattern.source}`);
  return value;
}

const flag = (raw: RawConfig, name: string): boolean => matching(raw, name, /^(true|false)$/) === "true";

function origin(raw: RawConfig, name: string): string {
  const value = text(raw, name);
  if (value === "") return "";
  const url = URL.parse(value);
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === null || !isHttp || (value !== url.origin && value !== `${url.origin}/`))
    throw new ConfigError(`${name} must be an origin such as https://platform.example`);
  return url.origin;
}

function positive(raw: RawConfig, name: string): number {
  const value = Number(text(raw, name));
  if (!Number.isFinite(value) || value <= 0) throw new ConfigError(`${name} must be a positive number`);
  return value;
}

/** Whole milliseconds: that is what the logs store. */
function retentionMs(raw: RawConfig): number {
  const timeMs = Math.floor(positive(raw, "EVENT_RETENTION_DAYS") * DAY_MS);
  if (timeMs < 1 || timeMs > MAX_RETENTION_DAYS * DAY_MS)
    throw new ConfigError(`EVENT_RETENTION_DAYS must be a number of days above 0, at most ${MAX_RETENTION_DAYS}`);
  return timeMs;
}

function logMaxBytes(raw: RawConfig): number {
  const sizeBytes = Math.floor(positive(raw, "EVENT_LOG_MAX_BYTES"));
  if (sizeBytes < LOG_BYTES.min || sizeBytes > LOG_BYTES.max)
    throw new ConfigError(`EVENT_LOG_MAX_BYTES must be a number of bytes from ${LOG_BYTES.min} to ${LOG_BYTES.max}`);
  return sizeBytes;
}

function logLevel(raw: RawConfig): LogLevel {
  const value = text(raw, "LOG_LEVEL");
  const level = LOG_LEVELS.find((candidate) => candidate === value);
  if (level === undefined) throw new ConfigError(`LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}`);
  return level;
}
