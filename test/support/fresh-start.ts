import { applyD1Migrations, listDurableObjectIds, reset, runInDurableObject, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, vi } from "vitest";

const given = env as typeof env & { readonly TEST_MIGRATIONS: D1Migration[]; readonly EMPTY_DB: D1Database };

/**
 * Test files follow each other in one runtime, since a new one for each takes longer than most files do. Each begins as if
 * it were the first: the clock is the real one, no module remembers anything (what the Worker keeps for its isolate is
 * made anew), no object lives and nothing is stored but empty tables.
 */
export async function startFresh(): Promise<void> {
  await leaveNothing();
  await begin();
}

async function begin(): Promise<void> {
  vi.resetModules();
  // Of what still ran when the last file ended.
  await reset();
  await applyD1Migrations(env.DB, given.TEST_MIGRATIONS);
}

/** At a file's end, while its modules are there: an object that is called without them breaks, and takes its time. */
async function leaveNothing(): Promise<void> {
  vi.useRealTimers();
  await wakeAll();
  await reset();
}

/**
 * `reset` empties the objects that live, those that databases, buckets and caches are made of among them. One that nobody
 * has called for ten seconds sleeps, and would keep what it has.
 */
async function wakeAll(): Promise<void> {
  const objects = [env.TOPIC_LOG, env.TOPIC_CONSUMER, env.PUSH_SUBSCRIPTION, env.LOGIN_ATTEMPTS].map(
    async (namespace: DurableObjectNamespace) => {
      for (const id of await listDurableObjectIds(namespace))
        // One that a test has broken lives no less.
        await runInDurableObject(namespace.get(id), () => undefined).catch(() => undefined);
    },
  );
  await Promise.all([
    ...objects,
    ...[env.DB, given.EMPTY_DB].map((database) => database.prepare("SELECT 1").run()),
    env.MEDIA.head("any"),
    caches.default.match("https://any.example/"),
  ]);
}

afterAll(leaveNothing);
await begin();
