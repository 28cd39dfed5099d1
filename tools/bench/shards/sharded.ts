import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyMigrations } from "../../../scripts/lib/local/database.ts";
import { freePort } from "../../../scripts/lib/local/free-port.ts";
import { serve, shardBindings } from "../../../scripts/lib/local/server.ts";
import { readSettings } from "../../../scripts/lib/local/settings.ts";
import { formatObjectShards } from "../../../src/platform/storage/object-shards.ts";
import { objectShardsOf } from "../../../src/platform/storage/shards.ts";
import { openPlatform } from "../lib/platform.ts";
import type { Server } from "../lib/server.ts";
import type { Database } from "../media/archive.ts";

/** A tenant in each shard. */
export interface Tenant {
  readonly shard: number;
  readonly name: string;
  readonly db: Database;
  /** Headers with a new token. */
  headers(): Promise<{ readonly authorization: string }>;
}

export interface Sharded {
  readonly server: Awaited<ReturnType<typeof serve>>;
  /** Origin and prefix. */
  readonly base: string;
  readonly tenants: readonly Tenant[];
}

export interface Size {
  readonly shards: number;
  /** The number of shards that are objects; these are the last ones. */
  readonly objects: number;
  /** The runtime's inspector listens. */
  readonly isInspected?: boolean;
}

/** Runs work on a platform with shards, each with a tenant and a client; then stops and removes the platform. */
export async function onShards(
  { shards, objects, isInspected = false }: Size,
  scopes: readonly string[],
  work: (sharded: Sharded) => Promise<void>,
): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), "plinth-shards-"));
  const numbers = Array.from({ length: objects }, (_, at) => [shards - objects + at, undefined] as const);
  const objectShards = new Map(numbers);
  const port = await freePort("127.0.0.1");
  const given = { PORT: String(port), STATE_DIR: stateDir, OBJECT_SHARDS: formatObjectShards(objectShards) };
  const settings = readSettings({ ...process.env, ...given, LOG_LEVEL: "error" });
  // The published numbers are of a platform without objects of tenants.
  const vars = { ...settings.vars, TENANT_OBJECTS: "" };
  const server = await serve({ ...settings, vars, shards: shards - objects, isInspected });
  try {
    const databases: Database[] = [];
    for (const name of shardBindings(shards - objects)) {
      const db = await server.getD1Database(name);
      await applyMigrations(db);
      databases.push(db);
    }
    const namespace = await server.getDurableObjectNamespace("SHARD_DATABASE");
    for (const { db } of objectShardsOf(objectShards, namespace)) databases.push(db);
    const { platform, pathPrefix, operatorSecret } = settings.config;
    const facts = { platform, pathPrefix, operatorSecret };
    const opened = await openPlatform({ origin: `http://127.0.0.1:${port}`, facts } as Server);
    const tenants: Tenant[] = [];
    for (const [shard, db] of databases.entries())
      tenants.push(await makeTenant(opened, scopes, databases[0]!, db, shard));
    await work({ server, base: opened.base, tenants });
  } finally {
    await server.dispose();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** A tenant whose files lie in a shard, and its client. */
async function makeTenant(
  { put, base, platform }: Awaited<ReturnType<typeof openPlatform>>,
  scopes: readonly string[],
  directory: Database,
  db: Database,
  shard: number,
): Promise<Tenant> {
  const name = `box${shard}`;
  const place = "INSERT INTO tenant_shard (tenant, shard) VALUES (?1, ?2)";
  await directory.batch([directory.prepare(place).bind(name, shard)]);
  await put(`tenants/${name}`, { organization: "bench", name });
  await put(`tenants/${name}/subscriptions/platform`, {});
  const granted = scopes.map((scope) => `${platform}.${scope}`);
  const client = { tenant: name, confidential: true, grantTypes: ["client_credentials"], scopes: granted };
  const id = `${name}.box`;
  const { clientSecret } = await put(`clients/${id}`, client);
  return {
    shard,
    name,
    db,
    async headers() {
      const authorization = `Basic ${btoa(`${id}:${clientSecret}`)}`;
      const body = new URLSearchParams({ grant_type: "client_credentials" });
      const answer = await fetch(`${base}/oauth2/v1/token`, { method: "POST", headers: { authorization }, body });
      const { access_token: token } = (await answer.json()) as { access_token: string };
      return { authorization: `Bearer ${token}` };
    },
  };
}

/** Resident memory of the runtime: the processes below this one, with databases, objects and isolates. */
export function memoryOf(parent: number): number {
  let bytes = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      if (Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]) !== parent) continue;
      bytes += Number(/^RssAnon:\s*(\d+)/m.exec(status)?.[1] ?? 0) * 1_024;
    } catch {
      // The process has ended.
    }
  }
  return bytes;
}
