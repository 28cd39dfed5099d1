import * as z from "zod/mini";
import { noSuch, problem, type Problem } from "../../../http/errors/errors.ts";
import { defineRoute, empty, type Route } from "../../../http/route.ts";
import type { Schema } from "../../../http/input/validate.ts";
import { rowBy, type AuditRecord } from "../../../platform/ports/audit.ts";
import type { BuiltIn } from "../../../platform/model/built-in.ts";
import type { Names } from "../../../platform/model/names.ts";
import { SESSION_ID, SESSION_ID_RULE } from "../../../platform/model/session-id.ts";
import { email, clientIdentifier, tenantId } from "../../model/fields.ts";
import {
  holds,
  ownsClient,
  ownsTenant,
  refuseManyEnded,
  tenantOperator,
  type TenantOperator,
} from "../shared/within-organization.ts";
import type { OAuthPort, OwnerKind, Revoking } from "../../model/ports.ts";
import type { Params } from "../shared/resource.ts";

/**
 * `POST …/revoke`: an operator revokes all tokens and grants that a client, user, tenant or session got until now
 * (revoke-all-store.ts). Registrations stay: to block a client for good, disable or remove it. The answer
 * does not show whether there was anything to revoke, so the request may be repeated.
 */
interface Revocable {
  readonly kind: OwnerKind;
  readonly collection: string;
  readonly key: string;
  readonly params: Schema<Params>;
  readonly summary: string;
  /** Selects a row if the owner exists. Absent for sessions: tokens are not stored, so any session may have some. */
  readonly exists?: string;
}

/** `?2` is the platform's own client or tenant, which has no row, but whose tokens may leak too. */
const REVOCABLE: readonly Revocable[] = [
  {
    kind: "client",
    collection: "clients",
    key: "clientId",
    params: z.object({ clientId: clientIdentifier }),
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
    params: z.object({ sessionId: z.string().check(z.regex(SESSION_ID, SESSION_ID_RULE)) }),
    summary: "Void every token of the session, end its grants, sign its browser out",
  },
];

interface Deps {
  readonly db: D1Database;
  readonly builtIn: BuiltIn;
  readonly names: Names;
  readonly oauth: Pick<OAuthPort, "revokeAll" | "sessionsEnded" | "hasEndedMost">;
  recordsChanged(): void;
}

export const revocationRoutes = (deps: Deps): readonly Route[] =>
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
        const by = tenantOperator(call.principal, deps.names, "run");
        if (by !== undefined && !(await isOwn(kind, id, by, deps.db))) return noSuch(kind);
        if (exists !== undefined && !(await isThere(exists, id, kind, deps))) return noSuch(kind);
        // Tenants are few: only the platform's operators make them.
        const counted = kind === "client" ? by : undefined;
        const refuse = async () => counted && refuseManyEnded(counted, deps.oauth);
        const refused = await refuse();
        if (refused !== undefined) return refused;
        try {
          const record = rowBy(call, "revoke", `${collection}/${id}`);
          const revoking = { kind, key: id, nowMs: call.nowMs, record, organization: counted?.organization };
          return (await revokeAll(revoking, deps.oauth)) ?? empty(204);
        } catch (thrown) {
          const cause = await refuse();
          if (cause !== undefined) return cause;
          throw thrown;
        } finally {
          // A revocation that failed may have been stored.
          deps.recordsChanged();
          if (kind === "user" || kind === "session")
            deps.oauth.sessionsEnded(kind === "user" ? { email: id } : "anywhere");
        }
      },
    }),
  );

/** People who run an organization's tenants may revoke the tokens of these tenants and of their clients. */
async function isOwn(kind: OwnerKind, id: string, { organization }: TenantOperator, db: D1Database): Promise<boolean> {
  if (kind === "client") return holds(db, ownsClient(id, organization));
  return kind === "tenant" && holds(db, ownsTenant(id, organization));
}

async function isThere(
  exists: string,
  id: string,
  kind: OwnerKind,
  { db, builtIn }: Pick<Deps, "db" | "builtIn">,
): Promise<boolean> {
  const own = { client: builtIn.operatorClientId, tenant: builtIn.tenant, user: undefined, session: undefined }[kind];
  const values = own === undefined ? [id] : [id, own];
  const statement = db.prepare(exists).bind(...values);
  return (await statement.first()) !== null;
}

/** Revokes. Returns a refusal that asks to repeat the request if one request could not remove all grants. */
export async function revokeAll(revoking: Revoking, oauth: Pick<OAuthPort, "revokeAll">): Promise<Problem | undefined> {
  if ((await oauth.revokeAll(revoking)) === "ended") return undefined;
  const message =
    "Access tokens are revoked, but one request cannot remove all refresh tokens. Repeat it to remove the rest.";
  return problem("service_temporarily_unavailable", message, { headers: { "retry-after": "1" } });
}

/** Revokes before a removal if there are many grants, because removing thousands in one transaction takes too long. */
export async function revokeManyFirst(
  { record, ...owner }: Revoking & { readonly record: AuditRecord },
  oauth: Pick<OAuthPort, "revokeAll" | "cleanupStep">,
): Promise<Problem | undefined> {
  const isMany = (await oauth.cleanupStep(owner.kind, owner.key, owner.nowMs).exceeds.first()) !== null;
  return isMany ? revokeAll({ ...owner, record: { ...record, action: "revoke" } }, oauth) : undefined;
}
