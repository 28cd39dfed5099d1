import type { Names } from "../../platform/names.ts";
import { scopeMatches } from "../../platform/scope-pattern.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import { placeScope } from "../model/authorization.ts";
import type { Granted } from "../tokens/issue.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { Consent, StoredConsent } from "./consent-store.ts";

/**
 * Decides whether a user must consent before a client gets access.
 *
 *   the user is a member of the client's tenant              no: the tenant chose its clients
 *   for a tenant that the user is a member of                no: that tenant subscribes to the client's service
 *   else, for an organization or outside any tenant          yes, on a page (authorize/consent.ts)
 *
 * A consent is stored for each user, client and organization. The page appears again if the consent does not cover the
 * request, was revoked, or the client moved to another tenant.
 */
export const needsConsent = (
  client: Pick<ClientRecord, "tenant"> | undefined,
  user: Pick<UserRecord, "tenants">,
  place: Pick<Granted, "tenant">,
): boolean => client !== undefined && place.tenant === "" && !user.tenants.some(({ id }) => id === client.tenant);

/** The consent that the request needs. */
export const requestedConsent = (
  { names }: { readonly names: Names },
  client: Pick<ClientRecord, "id" | "tenant">,
  granted: Granted,
): Consent => ({
  email: granted.user,
  clientId: client.id,
  org: granted.org,
  tenant: client.tenant,
  scopes: granted.scopes.filter((scope) => scope !== placeScope(granted, names)),
});

/** True if the stored consent covers the request. */
export const isAllowed = ({ scopes }: Consent, stored: StoredConsent | undefined): boolean =>
  stored?.scopes !== undefined &&
  scopes.every((scope) => stored.scopes?.some((allowed) => scopeMatches(allowed, scope)));
