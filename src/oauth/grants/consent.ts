import type { Names } from "../../platform/names.ts";
import { scopeMatches } from "../../platform/scope-pattern.ts";
import type { ClientRecord } from "../clients/directory.ts";
import { serviceScopes } from "../model/authorization.ts";
import type { Granted } from "../tokens/issue.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { Consent, StoredConsent } from "./consent-store.ts";

/**
 * Whether a person has to be asked before a client gets anything of theirs (contract 2.4, 8).
 *
 *   a member of the client's tenant                      no: the tenant chose its clients
 *   for a tenant that the person is a member of          no: it subscribes to the client's service
 *   outside any tenant, or for an organization, else     yes, on a page (authorize/consent.ts): what is allowed there is kept for
 *                                                        each person, client and organization, and asked for again when it
 *                                                        is not enough, where the client moved to another tenant, or was taken back
 */
export const needsConsent = (
  client: Pick<ClientRecord, "tenant"> | undefined,
  user: Pick<UserRecord, "tenants">,
  place: Pick<Granted, "tenant">,
): boolean => client !== undefined && place.tenant === "" && !user.tenants.some(({ id }) => id === client.tenant);

/** What the person is asked for. */
export const consentTo = (
  { names }: { readonly names: Names },
  client: Pick<ClientRecord, "id" | "tenant">,
  granted: Granted,
): Consent => ({
  email: granted.user,
  clientId: client.id,
  org: granted.org,
  tenant: client.tenant,
  scopes: [...(granted.scopes.includes("openid") ? ["openid"] : []), ...serviceScopes(granted, names)],
});

/** Whether what was allowed is enough. */
export const isAllowed = ({ scopes }: Consent, standing: StoredConsent | undefined): boolean =>
  standing?.scopes !== undefined &&
  scopes.every((scope) => standing.scopes?.some((allowed) => scopeMatches(allowed, scope)));
