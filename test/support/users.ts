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
 * A new user with a password, a member of a tenant (a new one where none is given) with a role of these scopes. `home`:
 * the shard of their refresh grants; any, if absent. The
 * password's hash is of the least cost, so guesses cost little; the first sign-in replaces it by one of today's cost.
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

/** A stored hash of the least cost. */
export const cheapHash = (password: string): string =>
  `scrypt$1$1$1$c2FsdA$${scryptSync(password, "salt", 32, { N: 2, r: 1, p: 1 }).toString("base64url")}`;
