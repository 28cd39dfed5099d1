import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ok } from "@oazapfts/runtime";
import { parse } from "yaml";
import * as api from "../../api/plinth.ts";
import { allRows, find, type OperatorClient } from "../../cli/client/admin-client.ts";
import type { Saying } from "../../cli/erase/client-data.ts";
import { eraseTenant } from "../../cli/erase/erase.ts";
import { makePlan } from "../../cli/erase/plan.ts";

/**
 * What the example makes is removed when it ends, and nothing else: a record that was there before stays.
 *
 *   before `plat apply`   the new records are written to `made.json` in the example's directory
 *   at the end            they are removed, and the directory with the secrets and the products too
 *   with --keep           they stay, and so does the list: the next run without --keep removes them
 *
 * An example that was killed has left its list, so the next run removes what that one made.
 */
const LIST = "made.json";
const POLL_MS = 200;

/** The kinds of records in the file, with their word on the command line. */
const KINDS = {
  organizations: { word: "organization", get: api.getOrganization, remove: api.deleteOrganization },
  tenants: { word: "tenant", get: api.getTenant, remove: api.deleteTenant },
  services: { word: "service", get: api.getService, remove: api.deleteService },
  packages: { word: "package", get: api.getPackage, remove: api.deletePackage },
  clients: { word: "client", get: api.getClient, remove: api.deleteClient },
} as const;
type Kind = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as Kind[];

/** The records by kind, each with its id. */
type Records = Readonly<Record<Kind, readonly string[]>>;

interface Made extends Records {
  /** The platform that has them. */
  readonly base: string;
  /** True if everything that the file describes was made by the example. */
  readonly isAll: boolean;
}

/** Writes down which records of the file the platform does not have yet. */
export async function rememberNew({ base, opts }: OperatorClient, file: string, directory: string): Promise<void> {
  const described = parse(readFileSync(file, "utf8")) as Readonly<Record<Kind, object>>;
  const earlier = madeEarlier(base, directory);
  let isAll = true;
  const newOf = async (kind: Kind): Promise<readonly [Kind, readonly string[]]> => {
    const ids = Object.keys(described[kind]);
    const found = await Promise.all(ids.map((id) => find<unknown>(KINDS[kind].get(id, opts))));
    const made = ids.filter((id, at) => found[at] === undefined || earlier?.[kind].includes(id) === true);
    if (made.length < ids.length) isAll = false;
    return [kind, made];
  };
  const records = Object.fromEntries(await Promise.all(NAMES.map(newOf))) as Record<Kind, readonly string[]>;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, LIST), JSON.stringify({ base, isAll, ...records } satisfies Made));
}

function madeEarlier(base: string, directory: string): Made | undefined {
  const path = join(directory, LIST);
  if (!existsSync(path)) return undefined;
  const made = JSON.parse(readFileSync(path, "utf8")) as Made;
  return made.base === base ? made : undefined;
}

/**
 * Removes the records, however far the example came. Returns a sentence for each that could not be removed. `say.wait`
 * can end the waiting by an error.
 */
export async function removeMade(operator: OperatorClient, directory: string, say: Saying): Promise<readonly string[]> {
  const { base, opts } = operator;
  const made = madeEarlier(base, directory);
  if (made === undefined) return [];
  const left: string[] = [];
  const attempt = async (what: string, command: string, remove: () => Promise<unknown>): Promise<void> => {
    try {
      await remove();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      left.push(`The ${what} is left: ${why}\n  npm run plat -- ${command}`);
    }
  };
  const removeAll = async (kind: Kind): Promise<void> => {
    const { word, remove } = KINDS[kind];
    for (const id of made[kind])
      await attempt(`${word} ${id}`, `${word} delete ${id}`, () => find<unknown>(remove(id, opts)));
  };

  for (const id of made.packages)
    for (const tenant of made.tenants)
      await attempt(`subscription of ${tenant} to ${id}`, `tenant unsubscribe ${tenant} ${id}`, () =>
        find(api.deleteSubscription(tenant, id, opts)),
      );
  await removeAll("packages");
  for (const tenant of made.tenants)
    await attempt(`content of the tenant ${tenant}`, `tenant erase ${tenant} --yes`, async () => {
      if ((await find(ok(api.getTenant(tenant, opts)))) === undefined) return;
      for (const client of made.clients) await deleteFiles(operator, tenant, client, say);
    });
  for (const tenant of made.tenants)
    await attempt(`tenant ${tenant}`, `tenant erase ${tenant} --yes`, async () => {
      const plan = await find(makePlan(operator, tenant));
      if (plan !== undefined) await eraseTenant(operator, plan, say);
    });
  // Clients and services of tenants that were there before.
  await removeAll("clients");
  await removeAll("services");
  await removeAll("organizations");
  if (left.length > 0) return left;

  rmSync(join(directory, LIST));
  if (made.isAll) rmSync(directory, { recursive: true });
  const gone =
    made.organizations.length === 0 ? "" : ` The organizations ${made.organizations.join(", ")} are gone too.`;
  say.done(
    made.isAll ? `${gone.trim()} Secrets and products: ${directory}, gone.` : `What was there before stays.${gone}`,
  );
  return [];
}

/** Files of a service's client are in its customers' tenants, where the erasure of its own tenant does not look. */
async function deleteFiles({ opts }: OperatorClient, tenant: string, client: string, say: Saying): Promise<void> {
  if ((await find(ok(api.getClient(client, opts)))) === undefined) return;
  for (const visibility of ["private", "public"] as const)
    await find<unknown>(api.deleteOperatedFiles(tenant, client, visibility, {}, opts));
  const isDeleting = async (): Promise<boolean> => {
    const erasures = await allRows((page) => api.listOperatedErasures(tenant, client, page, opts));
    return erasures.some(({ state }) => state === "deleting");
  };
  while (await isDeleting()) await say.wait(POLL_MS);
}
