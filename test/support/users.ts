import { scryptSync } from "node:crypto";
import { addressIn } from "./shards.ts";
import { ALL_SCOPES } from "./platform/clients.ts";
import { makeTenant } from "./platform/tenants.ts";
import { unique } from "./platform/unique.ts";
import { seedMember, seedUser } from "./seed.ts";

export interface TestUser {
  readonly email: string;
  readonly password: string;
  readonly tenant: string;
}

/**
 * Makes a user with a password, who is a member of a tenant (a new one by default) with a role of these scopes. `home`
 * is the shard of the user's refresh grants; any shard if absent. The password's hash has the least cost, so guesses
 * are cheap; the first sign-in replaces it by a hash of today's cost.
 */
export async function makeUser(
  options: { tenant?: string; scopes?: readonly string[]; home?: number } = {},
): Promise<TestUser> {
  const tenant = options.tenant ?? (await makeTenant());
  const made = () => `${unique("ada")}@example.org`;
  const email = options.home === undefined ? made() : addressIn(options.home, made);
  const password = unique("a password of ");
  await seedUser(email, cheapHash(password));
  await join(email, tenant, options.scopes);
  return { email, password, tenant };
}

/** Makes the user a member of a tenant. */
export async function join(email: string, tenant: string, scopes: readonly string[] = ALL_SCOPES): Promise<void> {
  await seedMember(email, tenant, unique("role"), scopes);
}

/** Returns a stored hash of the least cost. */
export const cheapHash = (password: string): string =>
  `scrypt$1$1$1$c2FsdA$${scryptSync(password, "salt", 32, { N: 2, r: 1, p: 1 }).toString("base64url")}`;
