import { createHmac } from "node:crypto";

/**
 * Event ids for who sees the events of one tenant alone. An id ends with its event's position, and two positions tell how
 * many events lie between, those of other tenants too. So the position stands there behind a mask, which needs the topic's
 * secret to know: by each event another one, always the same for the event and the tenant.
 */
export interface OwnTenant {
  readonly tenant: string;
  /** The topic's incarnation, which nobody is told. */
  readonly secret: string;
}

/** The id to show; of a shown one, the id. Undefined for what is no event id. */
export function masked(id: string, { tenant, secret }: OwnTenant): string | undefined {
  const [, random = "", place = ""] = ID.exec(id) ?? [];
  if (random === "") return undefined;
  const mask = createHmac("sha256", secret).update(`${tenant}/${random}`).digest().readUIntBE(0, MASK_BYTES);
  return `${random}-${(BigInt(parseInt(place, 36)) ^ BigInt(mask)).toString(36)}`;
}

/** As `positionOf` takes them (event-id.ts). */
const ID = /^([0-9a-f]{16})-([0-9a-z]{1,10})$/;
/** More than any position needs, and no more than the ten characters hold. */
const MASK_BYTES = 6;
