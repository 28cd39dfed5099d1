import type { OnTrip } from "../platform/storage/database.ts";
import { FIRST_TENANT_OBJECT } from "../platform/storage/tenant-objects.ts";
import type { Meter, MeteredService } from "../platform/ports/metrics.ts";

/**
 * Counts the round trips of a service to the database of a shard, and their rows as D1 bills them. All tenant objects
 * count as one shard.
 */
export const onTripOf =
  (meter: Meter, service: MeteredService, shard: number): OnTrip =>
  (results) => {
    const by = { service };
    meter.add("d1_round_trips", by);
    meter.add("shard_round_trips", { service, label: String(Math.min(shard, FIRST_TENANT_OBJECT)) });
    if (results === undefined) return meter.add("d1_failures", by);
    let [read, written] = [0, 0];
    for (const { meta } of results) {
      read += meta.rows_read;
      written += meta.rows_written;
    }
    if (read > 0) meter.add("d1_rows_read", by, read);
    if (written > 0) meter.add("d1_rows_written", by, written);
  };
