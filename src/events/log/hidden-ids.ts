import { createHmac } from "node:crypto";

/**
 * Hides positions in the event ids shown to readers of one tenant's events. An id ends with the event's position, and
 * two positions reveal how many events lie between them, including other tenants' events. So the position is masked
 * with a key from the topic's secret, the tenant and the event's random bits. An event always has the same masked id.
 */
export interface OwnTenant {
  readonly tenant: string;
  /** The topic's incarnation, which clients never see. */
  readonly secret: string;
}

/** Masks an id, or unmasks a masked one. Undefined if it is not an event id. */
export function maskId(id: string, { tenant, secret }: OwnTenant): string | undefined {
  const [, random = "", place = ""] = ID.exec(id) ?? [];
  if (random === "") return undefined;
  const mask = createHmac("sha256", secret).update(`${tenant}/${random}`).digest().readUIntBE(0, MASK_BYTES);
  return `${random}-${(BigInt(parseInt(place, 36)) ^ BigInt(mask)).toString(36)}`;
}

/** The ids that `positionOf` accepts (event-id.ts). */
const ID = /^([0-9a-f]{16})-([0-9a-z]{1,10})$/;
/** More bits than any position needs, and few enough for ten characters. */
const MASK_BYTES = 6;
