import { sanitizeForLog } from "../../src/platform/text/text.ts";
import { UsageError } from "./usage-error.ts";

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** `5000`, `5MB`, `1.5GiB`. */
export function readCount(text: string, flag: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text) ?? [];
  const value = Number(number || "x") * (UNITS[unit.toLowerCase()] ?? NaN);
  if (!Number.isSafeInteger(value))
    throw new UsageError(`${flag} takes a whole number, or one as 5MB or 5GiB: not ${text}.`);
  return value;
}

/** A positive whole number without a unit. */
export function readNumber(text: string, flag: string, { min, max }: { min: number; max: number }): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min && value <= max)) throw new UsageError(`${flag} takes ${min} to ${max}, not ${text}.`);
  return value;
}

/**
 * A day, a time with its zone, or Unix milliseconds; NaN for anything else. A time without a zone would be that of this
 * machine, and all times that are shown are UTC. Fewer digits would be Unix seconds.
 */
export function parseTime(text: string, flag: string): number {
  if (/^\d{12,15}$/.test(text)) return Number(text);
  const form = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;
  const [isTime, day = "", time, zone] = form.exec(text) ?? [];
  if (isTime === undefined) return NaN;
  if (time === undefined) return Date.parse(day);
  if (zone === undefined) throw new UsageError(`${flag} ${text} has no time zone: add Z for UTC.`);
  return Date.parse(`${day}T${time}${zone}`);
}

/** Reads `2h` (ago), `2026-11-22`, `2026-11-22T04:44:20Z` or Unix milliseconds; returns Unix milliseconds. */
export function readTime(text: string, flag: string, nowMs: number): number {
  const [, count, unit = ""] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return Math.max(0, nowMs - Number(count) * (SECONDS[unit] ?? 0) * 1000);
  const at = parseTime(text, flag);
  if (Number.isNaN(at))
    throw new UsageError(`${flag} takes 45s, 30m, 2h, 7d (ago), or a time as 2026-11-22T04:44:20Z: not ${text}.`);
  return at;
}

/** Reads a time in ISO 8601, or Unix milliseconds; returns Unix milliseconds. */
export function readInstant(text: string, flag: string): number {
  const ms = parseTime(text, flag);
  if (Number.isNaN(ms)) throw new UsageError(`${flag} is a time such as 2026-11-22T08:00:00Z, not ${text}`);
  return ms;
}

/** Reads one of a few words; undefined if none was given. */
export function readChoice<const Word extends string>(
  text: string | undefined,
  flag: string,
  words: readonly Word[],
): Word | undefined {
  const found = words.find((word) => word === text);
  if (found === text) return found;
  throw new UsageError(`${flag} takes ${words.join(" or ")}, not ${text}.`);
}

/** `tenants`, `linked identities`. */
export const pluralOf = (noun: string): string => (/[^aeiou]y$/.test(noun) ? noun.replace(/y$/, "ies") : `${noun}s`);

/** `1 file`, `1,204 files` */
export const countOf = (count: number, noun: string): string =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : pluralOf(noun)}`;

/** A time in UTC, to the second, as `--since` takes it. */
export const formatTime = (atMs: number): string =>
  Math.abs(atMs) <= 8.64e15 ? `${new Date(atMs).toISOString().slice(0, 19)}Z` : String(atMs);

export function formatBytes(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}

/** Replaces control characters in a text of the service, so that it cannot control the terminal. */
export const clean = (text: string): string => sanitizeForLog(text, Infinity);

/** JSON with control characters escaped, so that it cannot control the terminal. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replaceAll(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join(""),
  );

const TIME = /(^at|At|From|Until|restoredTo)$/;

/** Renders one value for people. */
export function formatValue(name: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return TIME.test(name) ? formatTime(value) : String(value);
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map((one) => formatValue("", one)).join(", ");
  return clean(JSON.stringify(value));
}

export type Body = Readonly<Record<string, unknown>>;

export function read(body: Body, name: string): unknown {
  return name.split(".").reduce<unknown>((value, part) => (value as Body | undefined)?.[part], body);
}
