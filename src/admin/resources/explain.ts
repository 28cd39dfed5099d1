import * as z from "zod/mini";
import { invalid } from "../../http/errors.ts";
import { defineRoute, json, type Route } from "../../http/route.ts";
import { PATTERNS } from "../../platform/names.ts";
import { email, identifier, tenantId } from "../fields.ts";

/** Port to the OAuth room: whether `/token` would grant it and exactly why, by the very rules, over records read anew. */
export type Explain = (
  question: {
    readonly clientId: string | undefined;
    readonly email: string | undefined;
    readonly tenant: string | undefined;
    readonly scope: string | undefined;
    readonly grant: Grant | undefined;
  },
  nowMs: number,
) => Promise<object>;

const GRANTS = ["client_credentials", "authorization_code", "implicit", "password"] as const;
type Grant = (typeof GRANTS)[number];

const isScopeList = (text: string): boolean => {
  const items = text.split(" ").filter((item) => item !== "");
  return items.length > 0 && items.length <= 100 && items.every((item) => PATTERNS.scope.test(item));
};
const query = z.object({
  client: z.optional(identifier),
  tenant: z.optional(tenantId),
  user: z.optional(email),
  scope: z.optional(
    z.string().check(z.refine(isScopeList, "must be 1 to 100 scopes, separated by spaces, as a client asks for them")),
  ),
  grant: z.optional(z.enum(GRANTS)),
});

/**
 * `GET /explain?client=&tenant=&user=&scope=`: would a token be issued, with what, and if not, what is in the way. What
 * is unknown is an answer as well: "client x is unknown". A client alone asks for itself; with a user the user signs in
 * for it, by `grant` or the first one that the client has; a user alone signs in by password without a client.
 */
export const explainRoute = (explain: Explain): Route =>
  defineRoute({
    method: "GET",
    path: "/explain",
    summary: "Say whether a client or a user gets scopes, and exactly why",
    operation: "explainScope",
    query,
    handle: async ({ query: { client, tenant, user, scope, grant }, nowMs }) => {
      const missing = (name: string, why: string) =>
        invalid("missing_query_parameter", name, `${name} is missing${why}.`);
      if (client === undefined && user === undefined) return missing("client", ", and so is user: name one or both");
      if (user === undefined && grant !== undefined && grant !== "client_credentials")
        return missing("user", `: somebody signs in by ${grant}`);
      if (client === undefined && grant !== undefined && grant !== "password")
        return missing("client", `: without one only password is possible`);
      if (user !== undefined && grant === "client_credentials")
        return invalid(
          "invalid_query_parameter",
          "grant",
          "grant client_credentials is for a client itself: leave user out.",
        );
      return json(200, await explain({ clientId: client, email: user, tenant, scope, grant }, nowMs));
    },
  });
