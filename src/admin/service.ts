import type { Route } from "../http/route.ts";
import type { CommonPasswords } from "../platform/secrets/common-passwords.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { AuditCopies } from "./audit/copies.ts";
import { auditCopyRoutes, auditRoute } from "./audit/routes.ts";
import type { EventsPort, MediaPort, MetricsPort, OAuthPort, OutboxPort, ShardsPort } from "./model/ports.ts";
import type { RuleContext } from "./model/rules.ts";
import { attentionRoute, type AttentionPorts } from "./resources/attention.ts";
import { clientSecretRoute } from "./resources/software/client-secret.ts";
import { clients } from "./resources/software/clients.ts";
import { explainRoute, type Explain } from "./resources/explain.ts";
import { fileRoutes, type OperatedFiles } from "./resources/media/files.ts";
import { identityProviderTestRoute } from "./resources/software/identity-provider-test.ts";
import { identityProviders } from "./resources/software/identity-providers.ts";
import { invitationLinkRoute } from "./resources/people/invitation-link.ts";
import { invitations, type SendInvitation } from "./resources/people/invitations.ts";
import { mediaConsistencyRoutes, type MediaConsistency } from "./resources/media/media-consistency.ts";
import { logoutDeliveryRoutes, type LogoutDeliveries } from "./resources/software/logout-deliveries.ts";
import { members } from "./resources/people/members.ts";
import { organizations } from "./resources/people/organizations.ts";
import { packages } from "./resources/software/packages.ts";
import { pushSubscriptionRoutes, type PushSubscriptions } from "./resources/events/push-subscriptions.ts";
import { resourceRoutes } from "./resources/shared/resource-routes.ts";
import type { ResourceDeps } from "./resources/shared/resource.ts";
import { revocationRoutes } from "./resources/keys/revocations.ts";
import { roles } from "./resources/people/roles.ts";
import { sealKeyRoute, type SealKeys } from "./resources/keys/seal-keys.ts";
import { services } from "./resources/software/services.ts";
import { shardRoutes, type ShardList } from "./resources/shards.ts";
import { tenantObjectRoutes, type TenantObjectList } from "./resources/tenant-objects.ts";
import { signingKeyRoutes, type SigningKeys } from "./resources/keys/signing-keys.ts";
import { subscriptions } from "./resources/people/subscriptions.ts";
import { tenants, tenantUsageRoute } from "./resources/people/tenants.ts";
import { unregisteredClientRoutes } from "./resources/software/unregistered-clients.ts";
import { userIdentities } from "./resources/people/user-identities.ts";
import { topicChangeRoutes } from "./resources/events/topic-changes.ts";
import { topicRoutes, type OperatedTopics } from "./resources/events/topics.ts";
import { passkeyRoutes } from "./resources/people/passkeys.ts";
import { sessionsRoute } from "./resources/people/sessions.ts";
import { secondFactorRoute, users, userUnlockRoute } from "./resources/people/users.ts";

/** The operator's database and ports to the other services. */
export interface AdminDeps extends ResourceDeps, Omit<RuleContext, "origin"> {
  readonly random: Random;
  readonly commonPasswords: CommonPasswords;
  readonly oauth: OAuthPort & {
    readonly explain: Explain;
    readonly signingKeys: SigningKeys;
    /** Undefined: the platform sends no mail, so it sends no invitations. */
    readonly sendInvitation: SendInvitation | undefined;
    /** Returns the address of the page that an invitation leads to. */
    invitationLink(token: string, origin: string): string;
  } & AttentionPorts["oauth"] &
    LogoutDeliveries;
  readonly outbox: OutboxPort;
  readonly events: EventsPort & {
    readonly operated: PushSubscriptions & AttentionPorts["events"]["operated"];
    readonly operatedTopics: OperatedTopics;
  };
  readonly media: MediaPort &
    AttentionPorts["media"] & { readonly consistency: MediaConsistency; readonly operatedFiles: OperatedFiles };
  readonly shards: ShardsPort & ShardList & { readonly objects: TenantObjectList };
  readonly metrics: MetricsPort;
  readonly auditCopies: AuditCopies;
  readonly sealKeys: SealKeys;
}

/**
 * The operator service manages organizations, tenants, people, clients and their rights.
 *
 * `RIGHTS` (src/http/callers/rights.ts) has the scopes that each route needs. A file in `resources/` is one resource:
 * its rules, its SQL, its JSON. `resources/shared/` has the code that several resources use.
 */
export function createAdminRoutes(deps: AdminDeps): Route[] {
  return [
    ...resourceRoutes(organizations(deps), deps),
    ...resourceRoutes(tenants(deps), deps),
    tenantUsageRoute(deps),
    ...resourceRoutes(users(deps), deps),
    userUnlockRoute(deps),
    secondFactorRoute(deps),
    ...passkeyRoutes(deps),
    sessionsRoute(deps),
    ...resourceRoutes(userIdentities(deps), deps),
    ...resourceRoutes(members("tenant", deps), deps),
    ...resourceRoutes(members("organization", deps), deps),
    ...invitationRoutes(deps),
    invitationLinkRoute(deps),
    ...resourceRoutes(roles(deps), deps),
    ...resourceRoutes(clients(deps), deps),
    clientSecretRoute(deps),
    ...logoutDeliveryRoutes(deps),
    ...unregisteredClientRoutes(deps),
    ...resourceRoutes(services(deps), deps),
    ...resourceRoutes(packages(deps), deps),
    ...resourceRoutes(subscriptions(deps), deps),
    ...resourceRoutes(identityProviders(deps), deps),
    identityProviderTestRoute(deps),
    ...revocationRoutes(deps),
    explainRoute(deps.oauth.explain),
    ...pushSubscriptionRoutes(deps.events.operated, deps.audit),
    ...topicRoutes(deps.events.operatedTopics, deps),
    ...topicChangeRoutes(deps.events.operatedTopics, deps),
    ...fileRoutes(deps.media.operatedFiles, deps),
    ...signingKeyRoutes(deps.oauth.signingKeys),
    sealKeyRoute(deps.sealKeys),
    ...shardRoutes(deps.shards, deps),
    ...tenantObjectRoutes(deps.shards.objects),
    ...mediaConsistencyRoutes(deps.media.consistency),
    attentionRoute(deps),
    auditRoute(deps.db),
    ...auditCopyRoutes(deps.auditCopies),
  ];
}

function invitationRoutes(deps: AdminDeps): readonly Route[] {
  const { sendInvitation } = deps.oauth;
  if (sendInvitation === undefined) return [];
  return (["tenant", "organization"] as const).flatMap((owner) =>
    resourceRoutes(invitations(owner, { ...deps, sendInvitation }), deps),
  );
}
