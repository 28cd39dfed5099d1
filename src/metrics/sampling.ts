import type { MetricsCollector } from "./collector.do.ts";
import { EVERYBODY, seriesName, type ByMinute } from "./model/counts.ts";
import { startOf } from "./model/limits.ts";
import { collectorName, hashOf } from "./model/places.ts";

/** Port to the media service: files and bytes of each tenant whose name lies between the two. */
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

/** The first letters of tenants, each a page. Pages never move, so that a repeated one has the same tenants. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz".split("");

/**
 * Counts what each tenant stores, once an hour: the cron calls this more often. A page has a name of its own in each
 * hour, so a page that is sent again counts once, and a run that broke off is finished by the next one.
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
  // The last message says that all pages of this hour are taken.
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
