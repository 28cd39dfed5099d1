import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { allRows, type AdminClient } from "../client/admin-client.ts";
import { clean, countOf, formatBytes } from "../terminal/values.ts";

/** The contents of a tenant, as far as the operator can see them. Building a plan changes nothing. */
export interface Plan {
  readonly tenant: api.Tenant;
  readonly clients: readonly api.Client[];
  /** Registered services that the tenant owns. */
  readonly services: readonly string[];
  /** Packages that the tenant subscribes to. */
  readonly subscriptions: readonly string[];
  /** Number of member users. */
  readonly members: number;
  readonly usage: Pick<api.TenantUsage, "files" | "bytes">;
  /** Clients of other tenants that serve this one and so may have files in it. */
  readonly serving: readonly string[];
  /** Sentences about dependents, which must be changed before anything is deleted. */
  readonly inTheWay: readonly string[];
  /** True if its organization has another tenant or a package. */
  readonly organizationHasMore: boolean;
}

/** Throws a refusal with 404 if there is no such tenant. */
export async function makePlan({ opts }: AdminClient, id: string): Promise<Plan> {
  const tenant = await ok(api.getTenant(id, opts));
  const [usage, tenants, clients, services, packages, subscribed, members] = await Promise.all([
    ok(api.getTenantUsage(id, {}, opts)),
    allRows((page) => api.listTenants(page, opts)),
    allRows((page) => api.listClients(page, opts)),
    allRows((page) => api.listServices(page, opts)),
    allRows((page) => api.listPackages(page, opts)),
    allRows((page) => api.listSubscriptions(id, page, opts)),
    allRows((page) => api.listTenantMembers(id, page, opts)),
  ]);
  const subscriptions = subscribed.map((one) => one.package);
  const served = packages.filter((one) => subscriptions.includes(one.id)).flatMap((one) => one.services);
  const own = services.filter((service) => service.tenant === id).map(({ name }) => name);
  const others = clients.filter((client) => client.tenant !== id);
  const { organization } = tenant;
  return {
    tenant,
    clients: clients.filter((client) => client.tenant === id),
    services: own,
    subscriptions,
    members: members.length,
    usage,
    serving: others.filter(({ service = "" }) => served.includes(service)).map(({ clientId }) => clientId),
    inTheWay: own.flatMap((service) => [
      ...packages
        .filter((one) => one.services.includes(service))
        .map(
          (one) =>
            `The service ${service} is in the package ${one.id}: package set ${one.id} --remove-service ${service}`,
        ),
      ...others
        .filter((client) => client.service === service)
        .map(
          ({ clientId, tenant: whose }) =>
            `${clientId} of the tenant ${whose} is a client of the service ${service}: client set ${clientId} --no-service`,
        ),
    ]),
    organizationHasMore:
      tenants.some((one) => one.organization === organization && one.id !== id) ||
      packages.some((one) => one.organization === organization),
  };
}

/** The plan for a table or as JSON. */
export const shownPlan = ({ tenant, clients, services, subscriptions, members, usage }: Plan) => ({
  tenant: tenant.id,
  clients: clients.map(({ clientId }) => clientId),
  files: usage.files,
  bytes: usage.bytes,
  services,
  subscriptions,
  members,
});

/** Only a client's own token can list its topics and files. */
export const UNSEEN =
  "Only a client's own token can list its topics and files. With --yes, each client gets a temporary " +
  "secret, and the topics and files are reported then. Subscriptions and unread events of other clients " +
  "on these topics are deleted too.";

/** Sentences about what the command does not delete. */
export const staysOf = ({ tenant, organizationHasMore, serving, usage }: Plan): readonly string[] => [
  "Users and roles stay, because others may use them.",
  organizationHasMore
    ? `The organization ${clean(tenant.organization)} stays.`
    : `The organization ${clean(tenant.organization)} stays and owns nothing then: organization delete ${clean(tenant.organization)}`,
  ...(serving.length === 0 || usage.files === 0
    ? []
    : [
        `Files here may be of clients of other tenants (${serving.map(clean).join(", ")}), which have to delete them: ` +
          "if there are any, the tenant stays until they are deleted.",
      ]),
];

export const filesOf = ({ files, bytes }: Plan["usage"]): string => `${countOf(files, "file")} (${formatBytes(bytes)})`;
