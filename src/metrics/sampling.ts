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
 * off.
 */
export async function sampleStored({ collectors, storedByTenant }: SamplingDeps, nowMs: number): Promise<void> {
  const hourMs = startOf("hour", nowMs);
  const sender = `stored ${hourMs}`;
  const collector = collectors.getByName(collectorName(hashOf(sender)));
  if ((await collector.lastNumber(sender)) > 0) return;
  const everybody = { tenant: EVERYBODY, files: 0, bytes: 0 };
  for (const [index, letter] of LETTERS.entries()) {
    const stored = await storedByTenant(letter, LETTERS[index + 1] ?? "{");
    for (const { files, bytes } of stored) {
      everybody.files += files;
      everybody.bytes += bytes;
    }
    if (stored.length > 0) await collector.add(`${sender} ${letter}`, 1, countsOf(stored, hourMs));
  }
  // The last batch marks the hour as complete.
  await collector.add(sender, 1, countsOf([everybody], hourMs));
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
