/**
 * Home-realm discovery: the address leads to the provider of its domain. Only the domain counts, so the result reveals
 * nothing about accounts.
 *
 *   no provider is bound to domains, or the request names one ──▶ the form for address and password
 *   else ──▶ the form for the address alone ──a provider's domain──▶ that provider
 *                        │                  └──any other───────────▶ the form for the password
 *                        └── "with a password": the request names the platform's own directory
 */
import { normalizeEmail } from "../../platform/text/email.ts";
import { isBoundToTenants, mayVouchFor } from "../model/binding.ts";
import type { OfferedProvider } from "./federation-store.ts";

/** The provider of an address. If several have its domain, a provider bound to tenants goes first. */
export function providerOf(address: string, byDomain: readonly OfferedProvider[]): OfferedProvider | undefined {
  const email = normalizeEmail(address);
  if (email === undefined) return undefined;
  const matching = byDomain.filter((one) => mayVouchFor(one, email));
  return matching.find(isBoundToTenants) ?? matching[0];
}

/** The value of the form's field `step` while it asks for the address alone. */
export const ADDRESS_STEP = "address";
