import * as z from "zod/mini";
import type { Principal } from "../http/auth.ts";
import { notFound, problem } from "../http/errors.ts";
import { invalidCursor, lookBefore, pageLinks, toPage } from "../http/paging.ts";
import { anyToken, defineRoute, empty, json, type Answer, type Call, type Route } from "../http/route.ts";
import { scopeText } from "./authorization.ts";
import type { OAuthContext } from "./context.ts";
import { byUser, endGrants, endGrantsOfUser } from "./end-grants.ts";
import type { ListedGrant } from "./store/grant-list-store.ts";
import { withoutUser } from "./without-user.ts";

/**
 * `/refreshtokens` (specification; contract 2.5): a user looks through the clients that hold a refresh token of theirs,
 * and ends them. What is listed is the grant: its token may be replaced at each use, its id stays. With a grant its
 * access tokens end.
 */
const query = z.object({ clientId: z.optional(z.string()) });
const ACCESS = anyToken("a user's own refresh tokens, whatever the token was issued for");

export const refreshTokenRoutes = (context: OAuthContext): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/refreshtokens",
    summary: "List the user's refresh tokens, newest first",
    access: ACCESS,
    query,
    paged: true,
    handle: (call) => forUser(call, context, (email) => list(call, email, context)),
  }),
  defineRoute({
    method: "DELETE",
    path: "/refreshtokens",
    summary: "Delete the user's refresh tokens, all or those of one client",
    access: ACCESS,
    query,
    produces: "any",
    handle: (call) => forUser(call, context, (email) => removeAll(call, email, context)),
  }),
  defineRoute({
    method: "DELETE",
    path: "/refreshtokens/{id}",
    summary: "Delete one of the user's refresh tokens",
    access: ACCESS,
    params: z.object({ id: z.string() }),
    produces: "any",
    handle: (call) => forUser(call, context, (email) => removeOne(call, email, context)),
  }),
];

type UserCall<P, Q> = Call<P, Q, undefined, Principal>;
type Query = z.output<typeof query>;

async function forUser(
  { principal }: Pick<UserCall<unknown, unknown>, "principal">,
  { names }: OAuthContext,
  handle: (email: string) => Promise<Answer>,
): Promise<Answer> {
  return principal.user === "" ? withoutUser(names.platform) : handle(principal.user);
}

async function list(call: UserCall<unknown, Query>, email: string, context: OAuthContext): Promise<Answer> {
  const { paging } = call;
  const [createdAtMs, id] = paging.cursor ?? [];
  if (paging.cursor !== undefined && (typeof createdAtMs !== "number" || typeof id !== "string"))
    return invalidCursor();
  const after = typeof createdAtMs === "number" && typeof id === "string" ? { createdAtMs, id } : undefined;
  const { clientId } = call.query;
  const rows = await context.grantLists.page(email, clientId, after, paging);
  const asked = toPage(rows, paging, (row) => [row.createdAtMs, row.id]);
  const page = await lookBefore(asked, paging, ({ skip, limit }) =>
    context.grantLists.page(email, clientId, undefined, { skip, pageSize: limit }),
  );
  const body = page.items.map((grant) => toJson(grant, context));
  return json(200, body, { link: pageLinks(call.url, paging, page), "cache-control": "no-store" });
}

const toJson = ({ authorization, ...grant }: ListedGrant, { names }: OAuthContext): object => ({
  id: grant.id,
  clientId: grant.clientId,
  clientName: grant.clientName,
  tenant: authorization.tenant,
  scope: scopeText(authorization, names),
  createdAt: grant.createdAtMs,
  lastUsedAt: grant.lastUsedAtMs,
});

async function removeAll(call: UserCall<unknown, Query>, email: string, context: OAuthContext): Promise<Answer> {
  const { clientId } = call.query;
  if (await endGrantsOfUser({ email, clientId, by: byToken(call) }, call, context)) return empty(204);
  return problem("service_temporarily_unavailable", "There are more than one request deletes. Send it again.", {
    headers: { "retry-after": "1" },
  });
}

async function removeOne(
  call: UserCall<{ readonly id: string }, unknown>,
  email: string,
  context: OAuthContext,
): Promise<Answer> {
  const { id } = call.params;
  if (!(await context.grantLists.isOf(email, id))) return notFound("refresh token");
  await endGrants([id], byUser(email, `grants/${id}`, `1 ${byToken(call)}`), call, context);
  return empty(204);
}

const byToken = ({ principal }: Pick<UserCall<unknown, unknown>, "principal">): string =>
  `by a token of client ${principal.clientId}`;
