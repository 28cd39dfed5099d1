import * as z from "zod/mini";
import { invalid } from "../../http/errors/errors.ts";
import { defineRoute, json, type Route } from "../../http/route.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { email, identifier, tenantId } from "../model/fields.ts";

/**
 * The port to the OAuth service. It explains whether `/token` would issue a token and exactly why, by the same rules
 * over fresh records.
 */
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
 * `GET /explain?client=&tenant=&user=&scope=` explains whether a token would be issued, with which scopes, or why not.
 * An unknown client or user is no error but an explanation. With only a client, the client asks for itself. With a user
 * too, the user signs in at the client, by `grant` or by the first grant that the client has. With only a user, the
 * user signs in by password without a client.
 */
export const explainRoute = (explain: Explain): Route =>
  defineRoute({
    method: "GET",
    path: "/explain",
    summary: "Say whether a client or a user gets scopes, and exactly why",
    operation: "explainScope",
    query,
    handle: async ({ query: { client, tenant, user, scope, grant }, nowMs }) => {
      const missing = (name: string, message: string) => invalid("missing_query_parameter", name, message);
      if (client === undefined && user === undefined) return missing("client", "Name a client, a user, or both.");
      if (user === undefined && grant !== undefined && grant !== "client_credentials")
        return missing("user", `user is missing. The grant ${grant} needs a user.`);
      if (client === undefined && grant !== undefined && grant !== "password")
        return missing("client", "client is missing. Without a client, only the grant password is possible.");
      if (user !== undefined && grant === "client_credentials")
        return invalid(
          "invalid_query_parameter",
          "grant",
          "The grant client_credentials is for a client alone. Leave user out.",
        );
      return json(200, await explain({ clientId: client, email: user, tenant, scope, grant }, nowMs));
    },
  });
