import { EVERYBODY } from "./counts.ts";
import { LIMITS } from "./limits.ts";

/** The place where the counts of a tenant are stored: the name of an object, and the group of its rows. */
export interface Place {
  readonly store: string;
  readonly group: number;
}

export const PLATFORM_PLACE: Place = { store: "platform", group: 0 };

/** The place of a tenant. It must never change, since nothing moves counts from one place to another. */
export function placeOf(tenant: string): Place {
  if (tenant === EVERYBODY) return PLATFORM_PLACE;
  const hash = hashOf(tenant);
  return { store: tenantStoreName(hash), group: Math.floor(hash / LIMITS.stores) % LIMITS.groups };
}

const tenantStoreName = (number: number): string => `tenants-${number % LIMITS.stores}`;

export const tenantStoreNames = (): readonly string[] =>
  Array.from({ length: LIMITS.stores }, (_, number) => tenantStoreName(number));

export const collectorName = (number: number): string => `collector-${number % LIMITS.collectors}`;

export const collectorNames = (): readonly string[] =>
  Array.from({ length: LIMITS.collectors }, (_, number) => collectorName(number));

/** FNV-1a, 32 bits: spreads similar names. */
export function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const char of text) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01_00_01_93) >>> 0;
  return hash;
}
