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
 *   a client that no operator registered                           always: the page appears for each request
 *   a client that is registered as `thirdParty`                    once
 *   any other, for a tenant                                        never: the tenant owns the client, or subscribes to
 *                                                                  its service
 *   … for none, or its tenant's organization, to a tenant's member  never: the tenant chose its clients
 *   … for an organization or none, to others                       once
 *
 *   nothing ──allow──▶ stored ──allow more──▶ stored, both ──withdrawn at /account, client moved to another tenant──▶
 *   nothing
 *
 * A consent is stored for each user, client and place: a tenant, an organization, or neither. `once`: the page appears
 * again if the stored consent does not cover the request, or for `prompt=consent`. Each use of a code or a refresh
 * token and each token exchange checks the consent again. If a consent is needed, grants without pages are refused.
 */
export type ConsentRule = "never" | "once" | "always";

export function consentRule(
  client: Pick<ClientRecord, "tenant" | "thirdParty" | "unregistered"> | undefined,
  user: Pick<UserRecord, "tenants">,
  place: Pick<Granted, "tenant" | "org">,
): ConsentRule {
  if (client === undefined) return "never";
  if (client.unregistered !== undefined) return "always";
  if (client.thirdParty === true) return "once";
  if (place.tenant !== "") return "never";
  const home = user.tenants.find(({ id }) => id === client.tenant);
  return home !== undefined && ["", home.organization].includes(place.org) ? "never" : "once";
}

/** True if the client needs consent in every place. */
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
