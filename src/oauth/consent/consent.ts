import type { Names } from "../../platform/model/names.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import { placeScope } from "../model/authorization.ts";
import type { Granted } from "../tokens/issue.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { Consent, StoredConsent } from "./consent-store.ts";

/**
 * The consent of a user to the access of a client.
 *
 *   a client that nobody registered                          always: the page appears at each request
 *   a client that is registered as `thirdParty`              once
 *   any other, for a tenant that the user is a member of     never: that tenant subscribes to the client's service
 *   … outside any tenant, if the user is a member of its     never: the tenant chose its clients
 *   … else                                                   once
 *
 *   nothing ──allow──▶ stored ──allow more──▶ stored, both ──take back at /account, another tenant's client──▶ nothing
 *
 * A consent is stored for each user, client and place: a tenant, an organization, or neither. `once`: the page appears
 * again if what is stored does not cover the request, or for `prompt=consent`. Every code, refresh token and exchange
 * of tokens is checked against it again. A grant without pages is refused where a consent is needed.
 */
export type ConsentRule = "never" | "once" | "always";

export function consentRule(
  client: Pick<ClientRecord, "tenant" | "thirdParty" | "unregistered"> | undefined,
  user: Pick<UserRecord, "tenants">,
  place: Pick<Granted, "tenant">,
): ConsentRule {
  if (client === undefined) return "never";
  if (client.unregistered !== undefined) return "always";
  if (client.thirdParty === true) return "once";
  return place.tenant === "" && !user.tenants.some(({ id }) => id === client.tenant) ? "once" : "never";
}

/** True if the client needs consent wherever it acts for a person. */
export const isThirdParty = (client: Pick<ClientRecord, "thirdParty" | "unregistered">): boolean =>
  client.thirdParty === true || client.unregistered !== undefined;

/** The consent that the request needs. */
export const requestedConsent = (
  { names }: { readonly names: Names },
  client: Pick<ClientRecord, "id" | "tenant">,
  granted: Pick<Granted, "user" | "tenant" | "org" | "scopes">,
): Consent => ({
  email: granted.user,
  clientId: client.id,
  clientTenant: client.tenant,
  tenant: granted.tenant,
  org: granted.org,
  scopes: granted.scopes.filter((scope) => scope !== placeScope(granted, names)),
});

/** True if the stored consent covers the request. */
export const isAllowed = ({ scopes }: Consent, stored: StoredConsent | undefined): boolean =>
  stored?.scopes !== undefined &&
  scopes.every((scope) => stored.scopes?.some((allowed) => scopeMatches(allowed, scope)));
