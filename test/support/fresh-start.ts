import { applyD1Migrations, reset, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { lowerPasswordCost } from "./password-cost.ts";

const given = env as typeof env & { readonly TEST_MIGRATIONS: D1Migration[] };

/**
 * Test files follow each other in one runtime, since a new one for each takes longer than most files do. Each begins as if
 * it were the first: the clock is the real one, no module remembers anything (what the Worker keeps for its isolate is
 * made anew), no object lives and nothing is stored but empty tables.
 */
export async function startFresh(): Promise<void> {
  vi.useRealTimers();
  vi.resetModules();
  await lowerPasswordCost();
  await wakeWhatAllShare();
  await reset();
  await applyD1Migrations(env.DB, given.TEST_MIGRATIONS);
}

/**
 * `reset` empties the objects that live, those that databases, buckets and caches are made of among them. One that nobody
 * has called for ten seconds sleeps, and would keep what it has. The Worker's own objects that sleep are left alone: each
 * file has names of its own, and what was emptied is still listed, so to wake all takes longer with each file.
 */
const wakeWhatAllShare = (): Promise<unknown> =>
  Promise.all([
    env.DB.prepare("SELECT 1").run(),
    env.MEDIA.head("any"),
    env.BACKUP?.head("any"),
    caches.default.match("https://any.example/"),
  ]);

await startFresh();
