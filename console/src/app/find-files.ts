import { listFileOwners, listOperatedFiles, listTenants } from "../../../api/plinth.ts";
import { answer, operations } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import type { Person } from "../session/session.ts";
import { lastOwner, type Owner } from "../pages/media/owner.ts";
import { formatTerms } from "../pages/media/files/query-terms.ts";
import { FIND_LIMITS, looksLikeFile, ownersToAsk, type TenantFiles } from "./whose-files.ts";

/**
 * Files by their whole name, for the palette. The service's index finds a name among the files of one client, so a
 * search asks for some clients at once:
 *
 *   the files looked at last ──▶ any text
 *   the open page's tenant ────┐
 *   the first tenants ─────────┴▶ their clients ──▶ only a text that looks like a file's name
 *
 * Others are asked only then because each search is a look at a client's files, which the audit log names.
 */
export interface FoundFile {
  readonly id: string;
  readonly owner: Owner;
}

export async function findFilesByName(
  name: string,
  person: Person,
  openTenant: string | undefined,
  pageSize: number,
): Promise<readonly FoundFile[]> {
  const last = lastOwner(person);
  const tenants = looksLikeFile(name) ? await tenantsNear(person, [openTenant, last?.tenant]) : [];
  const q = formatTerms([{ key: "name", value: name }]);
  const found = await Promise.all(
    ownersToAsk(last, tenants).map(async (owner) => {
      const { tenant, client, visibility } = owner;
      const asked = listOperatedFiles(tenant, client, visibility, { q, pageSize }, operations);
      // One that is gone, or refused, hides no others.
      const files = await answer(asked).catch(() => []);
      return files.map(({ id }) => ({ id, owner }));
    }),
  );
  return found.flat().slice(0, pageSize);
}

/** The clients with files of the tenants named, and of the first ones; kept while somebody types. */
async function tenantsNear(
  { user, organization }: Person,
  named: readonly (string | undefined)[],
): Promise<readonly TenantFiles[]> {
  const kept = <T>(key: readonly string[], queryFn: () => Promise<T>) =>
    queryClient.fetchQuery({ queryKey: ["find files", user, organization, ...key], queryFn, staleTime: 60_000 });
  const first = await kept(["tenants"], async () =>
    answer(listTenants({ pageSize: FIND_LIMITS.tenants }, operations)),
  ).catch(() => []);
  const ids = [...named.filter((id) => id !== undefined), ...first.map(({ id }) => id)];
  return Promise.all(
    [...new Set(ids)].slice(0, FIND_LIMITS.tenants).map(async (tenant) => ({
      tenant,
      owners: await kept(["owners", tenant], async () => answer(listFileOwners(tenant, operations))).catch(() => []),
    })),
  );
}
