import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { defineRoute, empty, json, type Route } from "../../../http/route.ts";
import { rowBy, type AuditTrail } from "../../../platform/ports/audit.ts";
import { email } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { hasUser } from "../shared/refusals.ts";

interface Deps {
  readonly db: D1Database;
  readonly audit: Pick<AuditTrail, "statement">;
  readonly oauth: Pick<OAuthPort, "listPasskeys" | "passkeyRemoval" | "tellByOperator">;
}

/** The id of a passkey has at most 1023 bytes (WebAuthn 6.5.1), here in base64url. */
const passkey = z.string().check(z.regex(/^[\w-]{1,1364}$/, "must be the id of a passkey, as the list shows it"));

/** An operator removes a passkey that a person has lost. The operator must check the identity of that person. */
export const passkeyRoutes = ({ db, audit, oauth }: Deps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/users/{email}/passkeys",
    summary: "List the user's passkeys",
    operation: "listPasskeys",
    params: z.object({ email }),
    produces: "any",
    handle: async ({ params: { email: address } }) => {
      if (!(await hasUser(db, address))) return noSuch("user");
      const passkeys = await oauth.listPasskeys(address);
      return json(
        200,
        passkeys.map(({ id, name, createdAtMs, lastUsedAtMs, backedUp }) => ({
          id,
          name,
          backedUp: backedUp === 1,
          createdAt: createdAtMs,
          lastUsedAt: lastUsedAtMs,
        })),
      );
    },
  }),
  defineRoute({
    method: "DELETE",
    path: "/users/{email}/passkeys/{passkey}",
    summary: "Remove a passkey of the user",
    operation: "removePasskey",
    params: z.object({ email, passkey }),
    produces: "any",
    handle: async (call) => {
      const { params } = call;
      const record = audit.statement("if changed", rowBy(call, "remove passkey", `users/${params.email}`));
      const done = await db.batch([...oauth.passkeyRemoval(params.email, params.passkey, call.nowMs), record]);
      if (done.at(-1)?.meta.changes === 0) return noSuch("passkey");
      oauth.tellByOperator(call, "passkeyRemoved", params.email);
      return empty(204);
    },
  }),
];
