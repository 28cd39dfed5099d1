import type { AnyCall } from "../model/call.ts";

/** The site that passkeys belong to. */
export interface RelyingParty {
  /** The domain: authenticators use a passkey nowhere else. */
  readonly id: string;
  /** The only origin whose pages may ask for one. */
  readonly origin: string;
}

export const MOST_PASSKEYS = 20;
export const PASSKEY_NAME_CHARS = 60;

/** An address by numbers, which WebAuthn does not take. */
const NUMBERS = /^[\d.]+$|^\[/;

/**
 * Undefined if the page of this request can use no passkeys: they are switched off, the host has no name, or the page
 * was asked for at another host than the platform's own. `origin`: of the pages; empty: the request's.
 */
export function relyingPartyOf(origin: string, { url }: Pick<AnyCall, "url">): RelyingParty | undefined {
  const own = new URL(origin || url.origin);
  return NUMBERS.test(own.hostname) || own.hostname !== url.hostname
    ? undefined
    : { id: own.hostname, origin: own.origin };
}
