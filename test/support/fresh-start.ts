import { applyD1Migrations, reset, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";

/**
 * Test files follow each other in one runtime, since a new one for each takes longer than most files do. Each begins as if
 * it were the first: the clock is the real one, no module remembers anything (what the Worker keeps for its isolate is
 * made anew), no object lives and nothing is stored but empty tables.
 */
export async function startFresh(): Promise<void> {
  vi.useRealTimers();
  vi.resetModules();
  await reset();
  await applyD1Migrations(env.DB, (env as unknown as { TEST_MIGRATIONS: D1Migration[] }).TEST_MIGRATIONS);
}

await startFresh();
