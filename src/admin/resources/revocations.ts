import * as z from "zod/mini";
import { noSuch } from "../../http/errors.ts";
import { defineRoute, empty, type Route } from "../../http/route.ts";
import type { Schema } from "../../http/validate.ts";
import { SESSION_ID } from "../../platform/session-id.ts";
import { endAll, type EndKind } from "./end-all.ts";
import { email, identifier, tenantId } from "../fields.ts";
import type { Params } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

/**
 * `POST …/revoke`: an operator ends all that a client, user, tenant or session got until now
 * (oauth/grants/revoke-all-store.ts), and leaves what is registered as it is; what ends for good is disabled or removed.
 * Nothing of it shows whether anything was there, so it may be repeated.
 */
interface Revocable {
  readonly kind: EndKind;
  readonly collection: string;
  readonly key: string;
  readonly params: Schema<Params>;
  readonly summary: string;
  /** A row while it is there. Undefined: access tokens are not stored, so any session may have some. */
  readonly exists?: string;
}

/** As `/token` and `/authorize` take them. */
const sessionId = z.string().check(z.regex(SESSION_ID));

/** `?2`: what the platform brings itself has no row, and its tokens may leak as well. */
const REVOCABLE: readonly Revocable[] = [
  {
    kind: "client",
    collection: "clients",
    key: "clientId",
    params: z.object({ clientId: identifier }),
    summary: "Void every token that the client got until now, and end the grants that users gave it",
    exists: `SELECT 1 WHERE ?1 = ?2 OR EXISTS (SELECT 1 FROM client WHERE id = ?1)`,
  },
  {
    kind: "user",
    collection: "users",
    key: "email",
    params: z.object({ email }),
    summary: "Void every token that was issued for the user until now, end the user's grants, sign the user out",
    exists: `SELECT 1 WHERE EXISTS (SELECT 1 FROM user WHERE email = ?1)`,
  },
  {
    kind: "tenant",
    collection: "tenants",
    key: "id",
    params: z.object({ id: tenantId }),
    summary: "Void every token that was issued for the tenant until now, and end its grants",
    exists: `SELECT 1 WHERE ?1 = ?2 OR EXISTS (SELECT 1 FROM tenant WHERE id = ?1)`,
  },
  {
    kind: "session",
    collection: "sessions",
    key: "sessionId",
    params: z.object({ sessionId }),
    summary: "Void every token of the session, end its grants, sign its browser out",
  },
];

export const revocationRoutes = (deps: AdminDeps): readonly Route[] =>
  REVOCABLE.map(({ kind, collection, key, params, summary, exists }) =>
    defineRoute({
      method: "POST",
      path: `/${collection}/{${key}}/revoke`,
      summary,
      operation: "revokeAll",
      params,
      produces: "any",
      handle: async (call) => {
        const id = call.params[key] ?? "";
        if (exists !== undefined && !(await isThere(exists, id, kind, deps))) return noSuch(kind);
        const { nowMs, requestId, principal } = call;
        const by = { atMs: nowMs, requestId, actor: principal.clientId, subject: `${collection}/${id}` };
        try {
          const record = { ...by, action: "revoke", outcome: "done", reason: "" } as const;
          return (await endAll(kind, id, nowMs, record, deps)) ?? empty(204);
        } finally {
          // Whatever became of the answer: it may have been written.
          deps.recordsChanged();
        }
      },
    }),
  );

async function isThere(exists: string, id: string, kind: EndKind, { db, builtIn }: AdminDeps): Promise<boolean> {
  const own = { client: builtIn.operatorClientId, tenant: builtIn.tenant, user: undefined, session: undefined }[kind];
  const values = own === undefined ? [id] : [id, own];
  return (
    (await db
      .prepare(exists)
      .bind(...values)
      .first()) !== null
  );
}
