import { randomBytes } from "node:crypto";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { AdminRefusal, find, type AdminClient, type OperatorClient } from "../client/admin-client.ts";
import { clean } from "../terminal/values.ts";
import { eraseClientData, NOTHING, plus, type Gone, type Saying } from "./client-data.ts";
import { countOf, filesOf, makePlan, type Plan } from "./plan.ts";

/** Of the package that brings the scopes which the deletions need. */
const PLATFORM_PACKAGE = "platform";

/**
 * Takes a tenant away, with all that is its own. The steps, each of which may be broken off and repeated:
 *
 *   cut off     each client gets a secret that nobody knows, and no right but to delete; what it had is void
 *   open        a disabled tenant is enabled, since nobody gets a token for one that is disabled
 *   data        each client, as itself, removes its topics and files; whatever is seen to be left goes in another round
 *   records     clients, services, subscriptions, and the tenant with its memberships
 *
 * Clients go behind the files of all of them: while others' files are there, nothing of what these need is taken away.
 */
export async function eraseTenant(operator: OperatorClient, plan: Plan, say: Saying): Promise<Gone> {
  const { tenant, inTheWay } = plan;
  if (inTheWay.length > 0) throw new UserError(`Nothing was done. ${inTheWay.join("\n  ")}`);
  const { opts } = operator;
  const cut: { readonly client: api.Client; readonly own: AdminClient }[] = [];
  for (const client of plan.clients) cut.push({ client, own: await cutOff(operator, client) });
  if (cut.length > 0)
    say.done(
      `${countOf(cut.length, "client")} cut off: ${cut.map(({ client }) => clean(client.clientId)).join(", ")}.`,
    );
  let gone = NOTHING;
  try {
    if (cut.length > 0) await open(operator, plan, say);
    const eraseAll = async (): Promise<Gone> => {
      let found = NOTHING;
      for (const { client, own } of cut) found = plus(found, await eraseClientData(own, client.name, tenant.id, say));
      gone = plus(gone, found);
      return found;
    };
    await eraseAll();
    // What came by tokens that were not void everywhere yet.
    while ((await ok(api.getTenantUsage(tenant.id, opts))).files > 0)
      if ((await eraseAll()).files === 0) throw await ofOthers(operator, plan);
    for (const { client, own } of cut) gone = plus(gone, await removeClient(operator, own, client, tenant.id, say));
    await removeRecords(operator, tenant.id);
  } catch (error) {
    if (tenant.disabled && cut.length > 0) await closeAgain(operator, tenant, say);
    throw error;
  }
  const rest = [countOf(cut.length, "client"), countOf(gone.topics, "topic"), filesOf(gone)].join(", ");
  say.done(`The tenant ${clean(tenant.id)} is gone: ${rest}, its services, subscriptions and memberships.`);
  return gone;
}

/** The client as itself, by a secret that is made here, goes to the platform, and is kept nowhere. */
async function cutOff(operator: OperatorClient, client: api.Client): Promise<AdminClient> {
  const { platform, opts } = operator;
  const { clientId, name, tenant, service } = client;
  const clientSecret = randomBytes(32).toString("base64url");
  const scopes = [`${platform}.media_admin`, `${platform}.pubsub_publish`];
  const body = {
    name,
    tenant,
    ...(service !== undefined && { service }),
    confidential: true,
    grantTypes: ["client_credentials" as const],
    scopes,
    clientSecret,
    disabled: false,
  };
  await ok(api.putClient(clientId, body, opts));
  const scope = [`${platform}.tenant=${tenant}`, ...scopes].join(" ");
  return operator.as({ id: clientId, secret: clientSecret, scope });
}

async function open({ opts }: AdminClient, { tenant, subscriptions }: Plan, say: Saying): Promise<void> {
  if (!subscriptions.includes(PLATFORM_PACKAGE)) {
    await ok(api.putSubscription(tenant.id, PLATFORM_PACKAGE, {}, opts));
    say.done(`Subscribed to ${PLATFORM_PACKAGE} for so long: without it nobody gets a token to delete by.`);
  }
  if (!tenant.disabled) return;
  await ok(api.putTenant(tenant.id, bodyOf(tenant, false), opts));
  say.done("Enabled for so long: nobody gets a token for a disabled tenant.");
}

/** Should this fail too, why the command failed is still what there is to say. */
async function closeAgain({ opts }: AdminClient, tenant: api.Tenant, say: Saying): Promise<void> {
  try {
    // A tenant that is gone by now, to somebody else or by an answer that was lost, would be made again by this.
    if ((await find(api.getTenant(tenant.id, opts))) === undefined) return;
    await ok(api.putTenant(tenant.id, bodyOf(tenant, true), opts));
    say.done("Disabled again.");
  } catch {
    say.waiting(
      `the tenant ${clean(tenant.id)} could not be disabled again: tenant set ${clean(tenant.id)} --disabled`,
    );
  }
}

const bodyOf = ({ organization, name, quota, plan }: api.Tenant, disabled: boolean) => ({
  organization,
  name,
  quota,
  plan,
  disabled,
});

/** What came in between, by a token that was not void everywhere yet, goes first. */
async function removeClient(
  operator: AdminClient,
  own: AdminClient,
  { clientId, name }: api.Client,
  tenant: string,
  say: Saying,
): Promise<Gone> {
  for (let gone = NOTHING; ;) {
    try {
      await api.deleteClient(clientId, operator.opts);
      return gone;
    } catch (error) {
      if (isGone(error)) return gone;
      if (!isRefusedAs(error, 409)) throw error;
      const found = await eraseClientData(own, name, tenant, say);
      if (found.topics + found.files === 0) throw keptElsewhere(clientId, error);
      gone = plus(gone, found);
    }
  }
}

async function removeRecords(operator: AdminClient, id: string): Promise<void> {
  const { opts } = operator;
  // Read again: what was subscribed to meanwhile goes too.
  const { services, subscriptions } = await makePlan(operator, id);
  for (const service of services) await goneOr(api.deleteService(service, opts));
  for (const name of subscriptions) await goneOr(api.deleteSubscription(id, name, opts));
  await goneOr(api.deleteTenant(id, opts));
}

const isRefusedAs = (error: unknown, status: number): error is AdminRefusal =>
  error instanceof AdminRefusal && error.status === status && error.type !== "";
const isGone = (error: unknown): boolean => isRefusedAs(error, 404);

/** Somebody else removed it. */
async function goneOr(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** The removal of the tenant is refused, and the refusal says whose the files are. */
async function ofOthers({ opts }: AdminClient, { tenant, serving }: Plan): Promise<UserError> {
  const named = await api.deleteTenant(tenant.id, opts).then(
    () => [],
    (error: unknown) => {
      if (!isRefusedAs(error, 409)) throw error;
      return error.details.filter(({ field }) => field === "files").map(({ message }) => clean(message));
    },
  );
  return new UserError(
    `Clients of other tenants have files in ${clean(tenant.id)}, which they alone can delete. ${named.join(" ")}\n` +
      `  What its own clients had is gone. These clients${serving.length === 0 ? "" : ` (${serving.map(clean).join(", ")})`}, its ` +
      "subscriptions and members stay until then: have the others delete their files, and repeat this command.",
  );
}

const keptElsewhere = (clientId: string, { details }: AdminRefusal): UserError =>
  new UserError(
    `The client ${clean(clientId)} is still in use, and so stays. ${details.map(({ message }) => clean(message)).join(" ")}\n` +
      "  Files in other tenants are theirs, and are not deleted here: when they may go, give the client a secret " +
      "(client new-secret), delete them all with its token (media_admin), and repeat this command.",
  );
