import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { pageOf, invalidCursor, type RowRange } from "../../../http/input/paging.ts";
import { defineRoute, empty, jsonPage, type Route } from "../../../http/route.ts";
import { rowBy } from "../../../platform/ports/audit.ts";
import { clientIdentifier } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { revokeAll } from "../keys/revocations.ts";

interface Deps {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "revokeAll">;
  recordsChanged(): void;
}

interface Row {
  readonly id: string;
  readonly metadata: string;
  readonly readAt: number;
  readonly usedAt: number;
  readonly registered: number;
  readonly people: number;
}

/** Grants of one client are counted up to this number. */
const MOST_GRANTS = 1_000;
const KINDS = ["document", "registered"] as const;
const PAGE = `
  SELECT id, metadata, read_at AS readAt, used_at AS usedAt, network IS NOT NULL AS registered,
    (SELECT count(DISTINCT user) FROM (
      SELECT email AS user FROM refresh_grant WHERE client = unregistered_client.id LIMIT ${MOST_GRANTS})) AS people
  FROM unregistered_client WHERE id > ?1 AND (?2 = '' OR (network IS NOT NULL) = (?2 = 'registered'))
  ORDER BY id LIMIT ?3 OFFSET ?4`;
const EXISTS = `SELECT 1 FROM unregistered_client WHERE id = ?1`;
const REMOVE_CLIENT = `DELETE FROM client WHERE id = ?1 AND tenant = '~'`;
const REMOVE = `DELETE FROM unregistered_client WHERE id = ?1`;

/**
 * Clients that nobody registered (oauth/unregistered), as far as they are kept: people came with them, or they
 * registered themselves. A removal ends what one has. One that a document describes is known again as soon as a person
 * allows it again; the deployment's UNREGISTERED_CLIENTS turns them off altogether.
 */
export const unregisteredClientRoutes = ({ db, oauth, recordsChanged }: Deps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/unregistered-clients",
    summary:
      "List the clients that nobody registered and that people came with, or that registered themselves; by kind",
    operation: "listUnregisteredClients",
    query: z.object({ kind: z.optional(z.enum(KINDS)) }),
    paged: true,
    handle: async ({ query: { kind = "" }, paging, url }) => {
      const [after = ""] = paging.cursor ?? [];
      if (typeof after !== "string") return invalidCursor();
      const read = async (from: string, { limit, skip }: RowRange) =>
        (await db.prepare(PAGE).bind(from, kind, limit, skip).all<Row>()).results;
      const found = await pageOf(paging, { after, beginning: "", read, keyOf: ({ id }) => [id] });
      return jsonPage({ url, paging }, found, toJson);
    },
  }),
  defineRoute({
    method: "DELETE",
    path: "/unregistered-clients/{clientId}",
    summary: "Remove a client that nobody registered, with every token and grant that it has",
    operation: "removeUnregisteredClient",
    params: z.object({ clientId: clientIdentifier }),
    produces: "any",
    handle: async (call) => {
      const { clientId } = call.params;
      if ((await db.prepare(EXISTS).bind(clientId).first()) === null) return noSuch("unregistered client");
      const record = rowBy(call, "remove", `unregistered-clients/${clientId}`);
      try {
        const unfinished = await revokeAll({ kind: "client", key: clientId, nowMs: call.nowMs, record }, oauth);
        if (unfinished !== undefined) return unfinished;
        await db.batch([db.prepare(REMOVE_CLIENT).bind(clientId), db.prepare(REMOVE).bind(clientId)]);
        return empty(204);
      } finally {
        recordsChanged();
      }
    },
  }),
];

/** The client's own words about itself; nobody has checked them. */
function toJson({ id, metadata, readAt, usedAt, registered, people }: Row): object {
  const { name = "", redirectUris = [] } = JSON.parse(metadata) as { name?: string; redirectUris?: readonly string[] };
  const kind = registered === 1 ? "registered" : "document";
  return { clientId: id, kind, name, redirectUris, people, readAt, usedAt };
}
