import { randomBytes } from "node:crypto";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { AdminRefusal, find, isOutage, type AdminClient, type OperatorClient } from "../client/admin-client.ts";
import { clean, countOf } from "../terminal/values.ts";
import { eraseClientData, NOTHING, plus, type Gone, type Saying } from "./client-data.ts";
import { filesOf, makePlan, type Plan } from "./plan.ts";
import { untilStopped } from "./until-stopped.ts";

/** The package with the scopes that the deletions need. */
const PLATFORM_PACKAGE = "platform";

/**
 * Deletes a tenant with everything that belongs to it. Each step can be interrupted and repeated:
 *
 *   cut off     each client gets a secret that nobody knows and only the rights to delete; its old tokens are revoked
 *   open        a disabled tenant is enabled, because nobody gets a token for a disabled one
 *   data        each client deletes its own topics and files, in rounds until none are left
 *   records     clients, services, subscriptions, and the tenant with its memberships
 *
 * Clients are deleted after the files of all of them: while files of other tenants' clients exist, no client is
 * deleted. After a failure, or once `stopping` is aborted, a tenant that was disabled is disabled again. If the program
 * is killed, another one does that (guard.ts). If the machine stops, nobody does, so the person is told before.
 */
export async function eraseTenant(
  forever: OperatorClient,
  plan: Plan,
  say: Saying,
  stopping: AbortSignal = new AbortController().signal,
): Promise<Gone> {
  const { tenant, inTheWay } = plan;
  if (inTheWay.length > 0) throw new UserError(`Nothing was done. ${inTheWay.join("\n  ")}`);
  const operator: OperatorClient = {
    ...untilStopped(forever, stopping),
    as: (who) => untilStopped(forever.as(who), stopping),
  };
  const { opts } = operator;
  if (plan.clients.length > 0) await checkCallersAreServed(operator);
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
      for (const { client, own } of cut) found = plus(found, await eraseOwn(own, client, say));
      gone = plus(gone, found);
      return found;
    };
    await eraseAll();
    // Deletes what arrived by tokens that were not yet revoked everywhere.
    while ((await ok(api.getTenantUsage(tenant.id, {}, opts))).files > 0)
      if ((await eraseAll()).files === 0) throw await ofOthers(operator, plan);
    for (const { client, own } of cut) gone = plus(gone, await removeClient(operator, own, client, say));
    await removeRecords(operator, tenant.id);
  } catch (error) {
    if (tenant.disabled && cut.length > 0) await closeAgain(forever, tenant, say);
    throw error;
  }
  const rest = [countOf(cut.length, "client"), countOf(gone.topics, "topic"), filesOf(gone)].join(", ");
  say.done(`The tenant ${clean(tenant.id)} is gone: ${rest}, its services, subscriptions and memberships.`);
  return gone;
}

/** In maintenance operators are served, but no client gets a token. So it would be cut off, and nothing deleted. */
async function checkCallersAreServed({ opts }: AdminClient): Promise<void> {
  try {
    await ok(api.getKeys(opts));
  } catch (error) {
    if (!isOutage(error)) throw error;
    throw new UserError(
      "Nothing was done. Clients get no tokens at the moment, as in maintenance: erase it afterwards.",
    );
  }
}

/** Otherwise a client that signs, or proves keys, would get no token by its secret. */
const UNPROTECTED = {
  authMethod: "client_secret" as const,
  securityProfile: "none" as const,
  dpopBoundAccessTokens: false,
  thirdParty: false,
};

/** Replaces the client's secret by one that only this command has, and that is stored nowhere. */
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
    ...UNPROTECTED,
    disabled: false,
  };
  await ok(api.putClient(clientId, body, opts));
  const scope = [`${platform}.tenant=${tenant}`, ...scopes].join(" ");
  return operator.as({ id: clientId, secret: clientSecret, scope });
}

/** Deletes what the client owns in its tenant. */
async function eraseOwn(own: AdminClient, { clientId, name, tenant }: api.Client, say: Saying): Promise<Gone> {
  try {
    return await eraseClientData(own, name, tenant, say);
  } catch (error) {
    // The secret was this command's alone, so somebody has replaced it.
    if (!isRefusedAs(error, 401)) throw error;
    throw new UserError(
      `The client ${clean(clientId)} has another secret since, or is gone: somebody else erases ${clean(tenant)} too. ` +
        "Wait until that has ended. Then repeat this command, if the tenant is still there.",
    );
  }
}

async function open({ opts }: AdminClient, { tenant, subscriptions }: Plan, say: Saying): Promise<void> {
  if (!subscriptions.includes(PLATFORM_PACKAGE)) {
    await ok(api.putSubscription(tenant.id, PLATFORM_PACKAGE, {}, opts));
    say.done(`Subscribed to ${PLATFORM_PACKAGE} meanwhile: without it nobody gets a token that can delete.`);
  }
  if (!tenant.disabled) return;
  const id = clean(tenant.id);
  say.waiting(
    `${id} is enabled meanwhile, because nobody gets a token for a disabled tenant. If this machine stops, ` +
      `it stays enabled: repeat the command, or tenant set ${id} --disabled`,
  );
  await ok(api.putTenant(tenant.id, bodyOf(tenant, false), opts));
}

/** Disables the tenant again after a failure. If this fails too, the first error is still the one to report. */
async function closeAgain({ opts }: AdminClient, tenant: api.Tenant, say: Saying): Promise<void> {
  try {
    // Disabling a tenant that is gone would make it again.
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

/** Deletes the client. New files or topics, from tokens that were not yet revoked everywhere, are deleted first. */
async function removeClient(operator: AdminClient, own: AdminClient, client: api.Client, say: Saying): Promise<Gone> {
  const { clientId } = client;
  for (let gone = NOTHING; ;) {
    try {
      await api.deleteClient(clientId, operator.opts);
      return gone;
    } catch (error) {
      if (isGone(error)) return gone;
      if (!isRefusedAs(error, 409)) throw error;
      const found = await eraseOwn(own, client, say);
      if (found.topics + found.files === 0) throw keptElsewhere(clientId, error);
      gone = plus(gone, found);
    }
  }
}

async function removeRecords(operator: AdminClient, id: string): Promise<void> {
  const { opts } = operator;
  // Read again, to include new subscriptions.
  const { services, subscriptions } = await makePlan(operator, id);
  for (const service of services) await goneOr(api.deleteService(service, opts));
  for (const name of subscriptions) await goneOr(api.deleteSubscription(id, name, opts));
  await goneOr(api.deleteTenant(id, opts));
}

const isRefusedAs = (error: unknown, status: number): error is AdminRefusal =>
  error instanceof AdminRefusal && error.status === status && error.type !== "";
const isGone = (error: unknown): boolean => isRefusedAs(error, 404);

/** Ignores a 404: somebody else deleted it. */
async function goneOr(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Explains which clients own the remaining files; the refusal of the deletion names them. */
async function ofOthers({ opts }: AdminClient, { tenant, serving }: Plan): Promise<UserError> {
  const named = await api.deleteTenant(tenant.id, opts).then(
    () => [],
    (error: unknown) => {
      if (!isRefusedAs(error, 409)) throw error;
      return error.details.filter(({ field }) => field === "files").map(({ message }) => clean(message));
    },
  );
  return new UserError(
    `Clients of other tenants have files in ${clean(tenant.id)}, which only they can delete. ${named.join(" ")}\n` +
      `  Everything of its own clients is deleted. These clients${serving.length === 0 ? "" : ` (${serving.map(clean).join(", ")})`}, its ` +
      "subscriptions and members stay. Have those files deleted, then repeat this command.",
  );
}

const keptElsewhere = (clientId: string, { details }: AdminRefusal): UserError =>
  new UserError(
    `The client ${clean(clientId)} is still in use and stays. ${details.map(({ message }) => clean(message)).join(" ")}\n` +
      "  Files in other tenants are not deleted here. To delete them, give the client a secret (client " +
      "new-secret), delete its files with its token (media_admin), and repeat this command.",
  );
