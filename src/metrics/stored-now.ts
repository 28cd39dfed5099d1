import type { Clock } from "../platform/runtime/clock.ts";
import { seriesName, type Series } from "./model/counts.ts";
import { LIMITS, startOf, type Step } from "./model/limits.ts";
import type { Rows } from "./reader.ts";

/** Port to the media service: the files and bytes stored now, of a tenant or of all. */
export type CountStored = (tenant: string | undefined) => Promise<Stored>;

export interface Stored {
  readonly files: number;
  readonly bytes: number;
}

export interface StoredNowDeps {
  readonly clock: Clock;
  readonly countStored: CountStored;
}

const FILES = seriesName("stored_files", "media");
const METRICS = ["stored_files", "stored_bytes"];

/** The part of a request for metrics that stored files and bytes depend on. */
export interface StoredAsked {
  readonly tenant: string | undefined;
  readonly step: Step;
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined if all are wanted. */
  readonly metrics: readonly string[] | undefined;
}

/**
 * Replaces the stored files and bytes of the current step, which sampling.ts counts once an hour, by those of now. So a
 * file is in the numbers as soon as it is committed. The sum of all tenants may be some seconds old.
 */
export function createStoredNow({ clock, countStored }: StoredNowDeps) {
  let kept: { readonly untilMs: number; readonly stored: Stored } | undefined;

  async function count(tenant: string | undefined, nowMs: number): Promise<Stored> {
    if (tenant !== undefined) return countStored(tenant);
    if (kept !== undefined && nowMs < kept.untilMs && kept.untilMs - nowMs <= LIMITS.storedMs) return kept.stored;
    const stored = await countStored(undefined);
    kept = { untilMs: nowMs + LIMITS.storedMs, stored };
    return stored;
  }

  return async (rows: Rows, { tenant, step, fromMs, toMs, metrics = METRICS }: StoredAsked): Promise<Rows> => {
    const nowMs = clock.nowMs();
    const asked = METRICS.some((metric) => metrics.includes(metric));
    if (!asked || nowMs < fromMs || nowMs >= toMs) return rows;
    const { files, bytes } = await count(tenant, nowMs);
    // A tenant that stores nothing, and never did in this time, has no series.
    if (files === 0 && ![...rows.values()].some((series) => series.has(FILES))) return rows;
    const atMs = startOf(step, nowMs);
    const now: Series = new Map([
      ...(rows.get(atMs) ?? []),
      [FILES, files],
      [seriesName("stored_bytes", "media"), bytes],
    ]);
    return new Map([...rows, [atMs, now]]);
  };
}
