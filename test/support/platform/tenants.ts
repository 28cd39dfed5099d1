import { env } from "cloudflare:workers";
import { seedTenant } from "../seed.ts";
import { unique } from "./unique.ts";

/** Makes a tenant with its organization, subscribed to the built-in package by default. */
export async function makeTenant(options: { subscribed?: boolean; tenant?: string } = {}): Promise<string> {
  const { tenant = unique("t") } = options;
  await seedTenant(tenant, options.subscribed);
  return tenant;
}

/** Returns the shard with the files of a tenant. */
export const placeOf = (tenant: string): Promise<number | null> =>
  env.DB.prepare("SELECT shard FROM tenant_shard WHERE tenant = ?").bind(tenant).first<number>("shard");

/** Makes a tenant whose files lie in this shard, as if a tenant of the same name had been there before. */
export async function makeTenantIn(shard: number, options: { subscribed?: boolean } = {}): Promise<string> {
  const tenant = unique("t");
  await env.DB.prepare("INSERT INTO tenant_shard (tenant, shard) VALUES (?, ?)").bind(tenant, shard).run();
  return makeTenant({ ...options, tenant });
}
