import { mergeBrands, readBrand, type Brand } from "../../platform/model/brand.ts";
import type { Names } from "../../platform/model/names.ts";
import { TryLater } from "../../platform/model/try-later.ts";
import type { Asking, Directory, Entry } from "../clients/directory.ts";
import type { UserRecord, UserStore } from "../users/user-store.ts";
import { mayActFor, parseScopes } from "../model/granted-scopes.ts";

interface Deps {
  readonly names: Names;
  readonly directory: Directory;
  readonly users: Pick<UserStore, "find">;
}

/** Finds nothing if the client cannot be known now: a page without its look is better than none. */
async function findNow(
  directory: Directory,
  clientId: string,
  tenant: string | undefined,
  asking: Asking,
): Promise<Pick<Entry, "client" | "tenant">> {
  try {
    return await directory.find(clientId, tenant, asking);
  } catch (thrown) {
    if (thrown instanceof TryLater) return { client: undefined, tenant: undefined };
    throw thrown;
  }
}

/** The brand for an authorization request, which a form or a link carries. `text`: its parameters, form-encoded. */
export async function brandOfRequest(deps: Deps, text: string, asking: Asking): Promise<Brand | undefined> {
  const request = new URLSearchParams(text);
  const clientId = request.get("client_id");
  if (clientId === null) return undefined;
  const scopes = parseScopes(request.get("scope") ?? "", deps.names);
  const named = scopes.ok ? scopes.value.tenant : undefined;
  const { client, tenant } = await findNow(deps.directory, clientId, named, asking);
  const isTenants = client !== undefined && tenant !== undefined && mayActFor(client, tenant).ok;
  return mergeBrands(client?.brand, isTenants ? tenant.brand : undefined);
}

/** The brand for a client without a request: its own, completed by its tenant's. */
export const brandOfClient = async (
  { directory }: Pick<Deps, "directory">,
  clientId: string | undefined,
  asking: Asking,
): Promise<Brand | undefined> => {
  if (clientId === undefined) return undefined;
  const { client, tenant } = await findNow(directory, clientId, undefined, asking);
  return client && mergeBrands(client.brand, tenant?.brand);
};

/** The brand for the account page and for mails: that of the person's tenant, if they have only one. */
export const brandOfPerson = ({ tenants: [first, second] }: Pick<UserRecord, "tenants">): Brand | undefined =>
  first === undefined || second !== undefined ? undefined : readBrand(first.brand);

/** Like `brandOfPerson`, for the person of an address. */
export async function brandOfAddress({ users }: Pick<Deps, "users">, email: string): Promise<Brand | undefined> {
  const user = await users.find(email);
  return user && brandOfPerson(user);
}

/** The brand for an invitation: that of the inviting tenant. Organizations have none. */
export const brandOfPlace = async (
  { directory }: Pick<Deps, "directory">,
  { kind, owner }: { readonly kind: string; readonly owner: string },
  nowMs: number,
): Promise<Brand | undefined> =>
  kind === "tenant" ? (await directory.find(undefined, owner, { nowMs })).tenant?.brand : undefined;
