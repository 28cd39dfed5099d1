import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { pageOf, invalidCursor, type RowRange } from "../../../http/input/paging.ts";
import { defineRoute, json, jsonPage, type Route } from "../../../http/route.ts";
import { rowBy, type AuditTrail } from "../../../platform/ports/audit.ts";
import { identifier } from "../../model/fields.ts";

interface Deps {
  readonly db: D1Database;
  readonly audit: Pick<AuditTrail, "statement">;
  readonly oauth: LogoutDeliveries;
}

export interface LogoutDeliveries {
  /** Starts the retries of dead letters again, the latest first, with the row. Returns their number. */
  redeliverLogouts(clientId: string, address: string, audit: D1PreparedStatement): Promise<number>;
}

interface Row {
  readonly id: string;
  readonly subject: string;
  readonly sid: string;
  readonly createdAt: number;
  readonly attempts: number;
  readonly nextAt: number;
  readonly deadAt: number | null;
  readonly lastAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly pausedUntil: number | null;
}

const STATES = ["pending", "dead"] as const;
const params = z.object({ clientId: identifier });

/** SQL: a page in the order of the ids, which are the cursor. */
const PAGE = `
  SELECT id, subject, sid, created_at AS createdAt, attempts, next_at AS nextAt, dead_at AS deadAt, last_at AS lastAt,
    last_status AS lastStatus, last_error AS lastError,
    (SELECT paused_until FROM logout_endpoint WHERE client = ?1) AS pausedUntil
  FROM logout_notice WHERE client = ?1 AND id > ?2 AND (?3 = '' OR (dead_at IS NOT NULL) = (?3 = 'dead'))
  ORDER BY id LIMIT ?4 OFFSET ?5`;
const CLIENT = `SELECT backchannel_logout_uri AS address FROM client WHERE id = ?1 AND tenant <> '~'`;

/** Logout tokens that a client has not received (oauth/logout). A delivered token has no row. */
export const logoutDeliveryRoutes = ({ db, audit, oauth }: Deps): readonly Route[] => {
  const find = (id: string) => db.prepare(CLIENT).bind(id).first<{ address: string }>();
  return [
    defineRoute({
      method: "GET",
      path: "/clients/{clientId}/logout-deliveries",
      summary: "List logout tokens that a client has still to get, or never got; by state",
      operation: "listLogoutDeliveries",
      params,
      query: z.object({ state: z.optional(z.enum(STATES)) }),
      paged: true,
      handle: async ({ params: { clientId }, query: { state = "" }, paging, url, nowMs }) => {
        const [after = ""] = paging.cursor ?? [];
        if (typeof after !== "string") return invalidCursor();
        if ((await find(clientId)) === null) return noSuch("client");
        const read = async (from: string, { limit, skip }: RowRange) =>
          (await db.prepare(PAGE).bind(clientId, from, state, limit, skip).all<Row>()).results;
        const found = await pageOf(paging, { after, beginning: "", read, keyOf: ({ id }) => [id] });
        return jsonPage({ url, paging }, found, (row) => toJson(row, nowMs));
      },
    }),
    defineRoute({
      method: "POST",
      path: "/clients/{clientId}/logout-deliveries/redeliver",
      summary: "Send the logout tokens again that a client never got, and those of a silent endpoint at once",
      operation: "redeliverLogouts",
      params,
      handle: async (call) => {
        const { clientId } = call.params;
        const client = await find(clientId);
        if (client === null) return noSuch("client");
        const record = rowBy(call, "redeliver logouts", `clients/${clientId}`, "those that it never got");
        const row = audit.statement("always", record);
        return json(200, { redelivered: await oauth.redeliverLogouts(clientId, client.address, row) });
      },
    }),
  ];
};

function toJson(row: Row, nowMs: number): object {
  const { id, subject, sid, createdAt, attempts, nextAt, deadAt, lastAt, lastStatus, lastError, pausedUntil } = row;
  return {
    id,
    user: subject,
    sessionId: sid,
    state: deadAt === null ? "pending" : "dead",
    createdAt,
    attempts,
    lastAttempt: lastAt === null ? null : { at: lastAt, status: lastStatus, error: lastError },
    // A paused endpoint gets no token before its pause ends.
    nextAttemptAt: deadAt === null ? Math.max(nextAt, pausedUntil ?? 0, nowMs) : null,
  };
}
