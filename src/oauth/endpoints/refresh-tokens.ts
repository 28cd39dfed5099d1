import * as z from "zod/mini";
import { type Principal, userTokenRequired } from "../../http/callers/auth.ts";
import { notFound, problem } from "../../http/errors/errors.ts";
import { invalidCursor, checkPreviousPage, pageLinks, toPage } from "../../http/input/paging.ts";
import { defineRoute, empty, json, type Answer, type Call, type Route } from "../../http/route.ts";
import type { ListedGrant } from "../homes/listed-grant.ts";
import { deletedByUser, revokeAccess, revokeGrants, type RevokeAccessDeps } from "../grants/revoke-grants.ts";
import { scopeText } from "../model/authorization.ts";
import type { TokenEndpointDeps } from "./deps.ts";

type RefreshTokenDeps = RevokeAccessDeps & Pick<TokenEndpointDeps, "names" | "directory">;

/**
 * `/refreshtokens`: lists and deletes the grants of a user to the calling client. The user's access token authorizes
 * the call. A grant keeps its id while its refresh token is replaced. Deleting a grant revokes its access tokens. Only
 * the user sees the grants of other clients, at `/account`.
 *
 *   token of a client that authenticated, or that has no secret       that client's grants
 *   token of a client that did not authenticate, or of no client      none: an empty list, nothing to delete
 */
const query = z.object({ clientId: z.optional(z.string()) });

export const refreshTokenRoutes = (deps: RefreshTokenDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/refreshtokens",
    summary: "List the user's refresh tokens of the calling client, newest first",
    operation: "listRefreshTokens",
    query,
    paged: true,
    handle: (call) => forOwner(deps, call, (owner) => list(deps, call, owner)),
  }),
  defineRoute({
    method: "DELETE",
    path: "/refreshtokens",
    summary: "Delete all of the user's refresh tokens of the calling client",
    operation: "deleteRefreshTokens",
    query,
    produces: "any",
    handle: (call) => forOwner(deps, call, (owner) => removeAll(deps, call, owner)),
  }),
  defineRoute({
    method: "DELETE",
    path: "/refreshtokens/{id}",
    summary: "Delete one of the user's refresh tokens of the calling client",
    operation: "deleteRefreshToken",
    params: z.object({ id: z.string() }),
    produces: "any",
    handle: (call) => forOwner(deps, call, (owner) => removeOne(deps, call, owner)),
  }),
];

type UserCall<P, Q> = Call<P, Q, undefined, Principal>;
type Query = z.output<typeof query>;

/** The grants that a token reaches. */
interface Owner {
  readonly email: string;
  /** Undefined: the token acts for no client, so it reaches no grant. */
  readonly clientId: string | undefined;
}

async function forOwner(
  deps: RefreshTokenDeps,
  { principal, nowMs }: Pick<UserCall<unknown, unknown>, "principal" | "nowMs">,
  handle: (owner: Owner) => Promise<Answer>,
): Promise<Answer> {
  const { user: email, clientId } = principal;
  if (email === "") return userTokenRequired(deps.names.platform);
  return handle({ email, clientId: (await speaksForClient(deps, principal, nowMs)) ? clientId : undefined });
}

/** True if the token may act for its client. Anybody can name one, so a confidential one must have authenticated. */
async function speaksForClient(
  { directory }: RefreshTokenDeps,
  { clientId, clientAuthenticated }: Principal,
  nowMs: number,
): Promise<boolean> {
  if (clientId === "" || clientAuthenticated) return clientId !== "";
  const { client } = await directory.find(clientId, undefined, { nowMs });
  return client?.confidential === false;
}

/** The client whose grants the request is about. Undefined if the token does not act for it. */
const requestedClient = (
  { query: { clientId } }: Pick<UserCall<unknown, Query>, "query">,
  owner: Owner,
): string | undefined => (clientId === undefined || clientId === owner.clientId ? owner.clientId : undefined);

async function list(deps: RefreshTokenDeps, call: UserCall<unknown, Query>, owner: Owner): Promise<Answer> {
  const { paging } = call;
  const [createdAtMs, id] = paging.cursor ?? [];
  if (paging.cursor !== undefined && (typeof createdAtMs !== "number" || typeof id !== "string"))
    return invalidCursor();
  const after = typeof createdAtMs === "number" && typeof id === "string" ? { createdAtMs, id } : undefined;
  const clientId = requestedClient(call, owner);
  const readPage = async (from: typeof after, rows: { readonly skip: number; readonly pageSize: number }) =>
    clientId === undefined ? [] : deps.grantLists.page(owner.email, clientId, from, rows);
  const requestedPage = toPage(await readPage(after, paging), paging, (row) => [row.createdAtMs, row.id]);
  const page = await checkPreviousPage(requestedPage, paging, ({ skip, limit }) =>
    readPage(undefined, { skip, pageSize: limit }),
  );
  const body = page.items.map((grant) => toJson(deps, grant));
  return json(200, body, { link: pageLinks(call.url, paging, page), "cache-control": "no-store" });
}

const toJson = ({ names }: RefreshTokenDeps, { authorization, ...grant }: ListedGrant): object => ({
  id: grant.id,
  clientId: grant.clientId,
  clientName: grant.clientName,
  tenant: authorization.tenant,
  scope: scopeText(authorization, names),
  createdAt: grant.createdAtMs,
  lastUsedAt: grant.lastUsedAtMs,
});

async function removeAll(deps: RefreshTokenDeps, call: UserCall<unknown, Query>, owner: Owner): Promise<Answer> {
  const clientId = requestedClient(call, owner);
  if (clientId === undefined) return empty(204);
  const { email } = owner;
  if (await revokeAccess(deps, { email, clientId, by: byToken(call) }, call)) return empty(204);
  return problem(
    "service_temporarily_unavailable",
    "Not all tokens could be deleted in one request. Repeat the request to delete the rest.",
    {
      headers: { "retry-after": "1" },
    },
  );
}

async function removeOne(
  deps: RefreshTokenDeps,
  call: UserCall<{ readonly id: string }, unknown>,
  { email, clientId }: Owner,
): Promise<Answer> {
  const { id } = call.params;
  if (clientId === undefined || !(await deps.grantLists.belongsToUser(email, clientId, id)))
    return notFound("refresh token");
  await revokeGrants(deps, [{ id, email, clientId }], deletedByUser(email, `grants/${id}`, `1 ${byToken(call)}`), call);
  return empty(204);
}

const byToken = ({ principal }: Pick<UserCall<unknown, unknown>, "principal">): string =>
  `by a token of client ${principal.clientId}`;
