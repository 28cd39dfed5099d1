import { HOUR_MS } from "../platform/runtime/clock.ts";
import type { MetricsCollector } from "./collector.do.ts";
import { EVERYBODY, seriesName, type ByMinute } from "./model/counts.ts";
import { startOf } from "./model/limits.ts";
import { collectorName, hashOf } from "./model/places.ts";

/** Port to the media service: files and bytes of each tenant whose name is at least `from` and less than `before`. */
export type StoredByTenant = (from: string, before: string) => Promise<readonly StoredOfTenant[]>;

export interface StoredOfTenant {
  readonly tenant: string;
  readonly files: number;
  readonly bytes: number;
}

export interface SamplingDeps {
  readonly collectors: DurableObjectNamespace<MetricsCollector>;
  readonly storedByTenant: StoredByTenant;
}

/** The first letters of tenants. Each makes a page, so a repeated page has the same tenants. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz".split("");

/**
 * Counts the files and bytes of each tenant once an hour, although the cron calls it more often. Each page of each hour
 * has a sender's name of its own. So a page that is sent again counts once, and the next run finishes one that broke
 * off. Hours that passed without a count get this one: a shard did not answer, or the platform was in maintenance, and
 * files were stored all the same.
 */
export async function sampleStored({ collectors, storedByTenant }: SamplingDeps, nowMs: number): Promise<void> {
  const collectorOf = (sender: string) => collectors.getByName(collectorName(hashOf(sender)));
  const isCounted = async (hourMs: number): Promise<boolean> =>
    (await collectorOf(senderOf(hourMs)).lastNumber(senderOf(hourMs))) > 0;
  const hours = await hoursToCount(isCounted, startOf("hour", nowMs));
  if (hours.length === 0) return;
  const everybody = { tenant: EVERYBODY, files: 0, bytes: 0 };
  for (const [index, letter] of LETTERS.entries()) {
    const stored = await storedByTenant(letter, LETTERS[index + 1] ?? "{");
    for (const { files, bytes } of stored) {
      everybody.files += files;
      everybody.bytes += bytes;
    }
    if (stored.length === 0) continue;
    for (const hourMs of hours) {
      const sender = senderOf(hourMs);
      await collectorOf(sender).add(`${sender} ${letter}`, 1, countsOf(stored, hourMs));
    }
  }
  // The last batch of an hour marks it as complete, so the latest hour comes last.
  for (const hourMs of hours) {
    const sender = senderOf(hourMs);
    await collectorOf(sender).add(sender, 1, countsOf([everybody], hourMs));
  }
}

const senderOf = (hourMs: number): string => `stored ${hourMs}`;

/**
 * Our choice: each hour costs up to 27 calls, and the other sweeps of the invocation need theirs. Collectors know the
 * senders of eight days.
 */
const MOST_MISSED_HOURS = 12;

/** This hour and those since the last count, oldest first. None: this hour is counted. A platform begins with one. */
async function hoursToCount(isCounted: (hourMs: number) => Promise<boolean>, nowMs: number): Promise<number[]> {
  const hours: number[] = [];
  for (let hourMs = nowMs; hours.length <= MOST_MISSED_HOURS; hourMs -= HOUR_MS) {
    if (await isCounted(hourMs)) return hours;
    hours.unshift(hourMs);
  }
  return [nowMs];
}

const countsOf = (stored: readonly StoredOfTenant[], minuteMs: number): ByMinute =>
  new Map([
    [
      minuteMs,
      new Map(
        stored.map(({ tenant, files, bytes }) => [
          tenant,
          new Map([
            [seriesName("stored_files", "media"), files],
            [seriesName("stored_bytes", "media"), bytes],
            [seriesName("stored_byte_hours", "media"), bytes],
          ]),
        ]),
      ),
    ],
  ]);
