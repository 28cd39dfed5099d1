import type { Route } from "../http/route.ts";
import type { CommonPasswords } from "../platform/common-passwords.ts";
import type { Random } from "../platform/random.ts";
import type { AuditCopies } from "./audit/copies.ts";
import { auditCopyRoutes, auditRoute } from "./audit/routes.ts";
import type { EventsPort, MediaPort, MetricsPort, OAuthPort, OutboxPort } from "./model/ports.ts";
import type { RuleContext } from "./model/rules.ts";
import { attentionRoute, type AttentionPorts } from "./resources/attention.ts";
import { clientSecretRoute } from "./resources/client-secret.ts";
import { clients } from "./resources/clients.ts";
import { explainRoute, type Explain } from "./resources/explain.ts";
import { fileRoutes, type OperatedFiles } from "./resources/files.ts";
import { identityProviders } from "./resources/identity-providers.ts";
import { invitationLinkRoute } from "./resources/invitation-link.ts";
import { invitations, type SendInvitation } from "./resources/invitations.ts";
import { mediaConsistencyRoutes, type MediaConsistency } from "./resources/media-consistency.ts";
import { members } from "./resources/members.ts";
import { organizations } from "./resources/organizations.ts";
import { packages } from "./resources/packages.ts";
import { pushSubscriptionRoutes, type PushSubscriptions } from "./resources/push-subscriptions.ts";
import { resourceRoutes, type ResourceDeps } from "./resources/resource.ts";
import { revocationRoutes } from "./resources/revocations.ts";
import { roles } from "./resources/roles.ts";
import { sealKeyRoute, type SealKeys } from "./resources/seal-keys.ts";
import { services } from "./resources/services.ts";
import { signingKeyRoutes, type SigningKeys } from "./resources/signing-keys.ts";
import { subscriptions } from "./resources/subscriptions.ts";
import { tenants, tenantUsageRoute } from "./resources/tenants.ts";
import { userIdentities } from "./resources/user-identities.ts";
import { topicChangeRoutes } from "./resources/topic-changes.ts";
import { topicRoutes, type OperatedTopics } from "./resources/topics.ts";
import { secondFactorRoute, users, userUnlockRoute } from "./resources/users.ts";

/** The operator's database and ports to the other services. */
export interface AdminDeps extends ResourceDeps, Omit<RuleContext, "origin"> {
  readonly random: Random;
  readonly commonPasswords: CommonPasswords;
  readonly oauth: OAuthPort & {
    readonly explain: Explain;
    readonly signingKeys: SigningKeys;
    /** Undefined: the platform sends no mail, so nobody is invited. */
    readonly sendInvitation: SendInvitation | undefined;
    /** The address of the page behind an invitation. */
    invitationLink(token: string, origin: string): string;
  } & AttentionPorts["oauth"];
  readonly outbox: OutboxPort;
  readonly events: EventsPort & {
    readonly operated: PushSubscriptions & AttentionPorts["events"]["operated"];
    readonly operatedTopics: OperatedTopics;
  };
  readonly media: MediaPort &
    AttentionPorts["media"] & { readonly consistency: MediaConsistency; readonly operatedFiles: OperatedFiles };
  readonly metrics: MetricsPort;
  readonly auditCopies: AuditCopies;
  readonly sealKeys: SealKeys;
}

/**
 * The operator service: who exists on the platform and who may do what.
 *
 * Every route needs the scope `admin`, which only the operator client can get. A file in `resources/` is one resource:
 * its rules, its SQL, its JSON. `resources/resource.ts` has what they share.
 */
export function createAdminRoutes(deps: AdminDeps): Route[] {
  return [
    ...resourceRoutes(organizations(deps), deps),
    ...resourceRoutes(tenants(deps), deps),
    tenantUsageRoute(deps),
    ...resourceRoutes(users(deps), deps),
    userUnlockRoute(deps),
    secondFactorRoute(deps),
    ...resourceRoutes(userIdentities(deps), deps),
    ...resourceRoutes(members("tenant", deps), deps),
    ...resourceRoutes(members("organization", deps), deps),
    ...invitationRoutes(deps),
    invitationLinkRoute(deps),
    ...resourceRoutes(roles(deps), deps),
    ...resourceRoutes(clients(deps), deps),
    clientSecretRoute(deps),
    ...resourceRoutes(services(deps), deps),
    ...resourceRoutes(packages(deps), deps),
    ...resourceRoutes(subscriptions(deps), deps),
    ...resourceRoutes(identityProviders(deps), deps),
    ...revocationRoutes(deps),
    explainRoute(deps.oauth.explain),
    ...pushSubscriptionRoutes(deps.events.operated),
    ...topicRoutes(deps.events.operatedTopics, deps),
    ...topicChangeRoutes(deps.events.operatedTopics, deps),
    ...fileRoutes(deps.media.operatedFiles, deps),
    ...signingKeyRoutes(deps.oauth.signingKeys),
    sealKeyRoute(deps.sealKeys),
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
