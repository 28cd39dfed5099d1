import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ok } from "@oazapfts/runtime";
import { parse } from "yaml";
import * as api from "../../api/plinth.ts";
import { allRows, find, type OperatorClient } from "../../cli/client/admin-client.ts";
import type { Saying } from "../../cli/erase/client-data.ts";
import { eraseTenant } from "../../cli/erase/erase.ts";
import { makePlan } from "../../cli/erase/plan.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/**
 * What the example makes is removed when it ends, and nothing else.
 *
 *   before `plat apply`   its records are written to `made.json` in the example's directory; if the platform has one
 *                         of them that is not on an earlier list, it is somebody's own, and the example ends here
 *   at the end            they are removed, each leaves the list, and the directory with secrets and products goes too
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
type Records = Record<Kind, readonly string[]>;

interface Made extends Records {
  /** The platform that has them. */
  readonly base: string;
}

/** Writes down the records of the file. Refuses if the platform has one that the example did not make. */
export async function rememberNew({ base, opts }: OperatorClient, file: string, directory: string): Promise<void> {
  const described = parse(readFileSync(file, "utf8")) as Readonly<Record<Kind, object>>;
  const earlier = madeEarlier(base, directory);
  const foreignOf = async (kind: Kind): Promise<readonly string[]> => {
    const ids = Object.keys(described[kind]).filter((id) => earlier?.[kind].includes(id) !== true);
    const found = await Promise.all(ids.map((id) => find<unknown>(KINDS[kind].get(id, opts))));
    return ids.filter((_, at) => found[at] !== undefined).map((id) => `${KINDS[kind].word} ${id}`);
  };
  const foreign = (await Promise.all(NAMES.map(foreignOf))).flat();
  if (foreign.length > 0) throw new UserError(refusal(foreign));
  const records = Object.fromEntries(
    NAMES.map((kind): [Kind, readonly string[]] => [kind, Object.keys(described[kind])]),
  ) as Records;
  mkdirSync(directory, { recursive: true });
  writeList(directory, { base, ...records });
}

const refusal = (foreign: readonly string[]): string =>
  `The platform has records with names of the example, which the example did not make: ${foreign.join(", ")}
It would change them and remove them at its end, so it did nothing. Give it a platform of its own:
  PORT=9411 STATE_DIR=/tmp/example npm run example`;

const writeList = (directory: string, made: Made): void => writeFileSync(join(directory, LIST), JSON.stringify(made));

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
  /** Takes a removed record off the list: a later one of this name is somebody's own. */
  const drop = (kind: Kind, id: string): void => {
    made[kind] = made[kind].filter((one) => one !== id);
    writeList(directory, made);
  };
  const removeAll = async (kind: Kind): Promise<void> => {
    const { word, remove } = KINDS[kind];
    for (const id of made[kind])
      await attempt(`${word} ${id}`, `${word} delete ${id}`, async () => {
        await find<unknown>(remove(id, opts));
        drop(kind, id);
      });
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
      drop("tenants", tenant);
    });
  // Those that went with their tenant leave the list.
  await removeAll("clients");
  await removeAll("services");
  const organizations = made.organizations.join(", ");
  await removeAll("organizations");
  if (left.length > 0) return left;

  rmSync(directory, { recursive: true });
  say.done(`The organizations ${organizations} are gone too. Secrets and products: ${directory}, gone.`);
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
