import type { AdminDeps } from "./ports.ts";
import type { Route } from "../http/route.ts";
import { resourceRoutes } from "./resource.ts";
import { auditRoute } from "./resources/audit.ts";
import { auditCopyRoutes } from "./resources/audit-copies.ts";
import { clientSecretRoute } from "./resources/client-secret.ts";
import { clients } from "./resources/clients.ts";
import { explainRoute } from "./resources/explain.ts";
import { identityProviders } from "./resources/identity-providers.ts";
import { mediaConsistencyRoutes } from "./resources/media-consistency.ts";
import { members } from "./resources/members.ts";
import { organizations } from "./resources/organizations.ts";
import { packages } from "./resources/packages.ts";
import { pushSubscriptionRoutes } from "./resources/push-subscriptions.ts";
import { revocationRoutes } from "./resources/revocations.ts";
import { roles } from "./resources/roles.ts";
import { sealKeyRoute } from "./resources/seal-keys.ts";
import { services } from "./resources/services.ts";
import { signingKeyRoutes } from "./resources/signing-keys.ts";
import { subscriptions } from "./resources/subscriptions.ts";
import { tenantUsageRoute } from "./resources/tenant-usage.ts";
import { tenants } from "./resources/tenants.ts";
import { userIdentities } from "./resources/user-identities.ts";
import { userUnlockRoute } from "./resources/user-unlock.ts";
import { users } from "./resources/users.ts";

/**
 * The operator service (contract section 5): who exists on the platform and who may do what.
 *
 * Every route needs the scope `admin`, which the operator client alone can get. A file in `resources/` is one
 * resource: its fields, its SQL, its shape. What all of them share is in `resource.ts`.
 */
export function createAdminRoutes(deps: AdminDeps): Route[] {
  return [
    ...resourceRoutes(organizations(deps), deps),
    ...resourceRoutes(tenants(deps), deps),
    tenantUsageRoute(deps),
    ...resourceRoutes(users(deps), deps),
    userUnlockRoute(deps),
    ...resourceRoutes(userIdentities(deps), deps),
    ...resourceRoutes(members("tenant", deps), deps),
    ...resourceRoutes(members("organization", deps), deps),
    ...resourceRoutes(roles(deps), deps),
    ...resourceRoutes(clients(deps), deps),
    clientSecretRoute(deps),
    ...resourceRoutes(services(deps), deps),
    ...resourceRoutes(packages(deps), deps),
    ...resourceRoutes(subscriptions(deps), deps),
    ...resourceRoutes(identityProviders(deps), deps),
    ...revocationRoutes(deps),
    explainRoute(deps.explain),
    ...pushSubscriptionRoutes(deps.pushSubscriptions),
    ...signingKeyRoutes(deps.signingKeys),
    sealKeyRoute(deps.sealKeys),
    ...mediaConsistencyRoutes(deps.mediaConsistency),
    auditRoute(deps.db),
    ...auditCopyRoutes(deps.auditCopies),
  ];
}
