import { createHash } from "node:crypto";
import { problem, type Problem } from "../../../http/errors/errors.ts";
import { matchesAny } from "../../../platform/text/entity-tag.ts";
import { rowStatement, type RowQuery } from "../../audit/change-store.ts";
import type { Resource, Row } from "./resource.ts";
import { guard, type Condition } from "./within-organization.ts";

/**
 * Conditions of a change (RFC 9110 section 13). `If-Match` with the ETag of a GET changes a record only as the caller
 * read it, `If-None-Match: *` only makes a new one. So an operator undoes nothing that another one did meanwhile. Both
 * compare weakly: Cloudflare makes the ETag of a compressed answer weak, and the record that it names is the same.
 *
 *   row read ── as asked ──▶ the change, whose transaction finds the same row ──▶ made
 *      └── differs: 412             └── another row: rolled back, 412
 */
export interface Preconditions {
  /** Returns the reason to refuse the change. Runs first, and again if the database refused the change. */
  check(): Promise<Problem | undefined>;
  /** Statements that roll the change back if the row is not the checked one any more. */
  guards(): readonly D1PreparedStatement[];
}

const NONE: Preconditions = { check: async () => undefined, guards: () => [] };

/** The ETag of a record, as GET shows it. */
export const etagOf = (shown: object): string =>
  `"${createHash("sha256").update(JSON.stringify(shown)).digest("base64url").slice(0, 22)}"`;

export function preconditions(
  db: D1Database,
  { headers, method }: Request,
  query: RowQuery,
  { noun, toJson }: Pick<Resource<never>, "noun" | "toJson">,
): Preconditions {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (ifMatch === null && ifNoneMatch === null) return NONE;
  let checked: Row | null | undefined;
  return {
    async check() {
      const row = await rowStatement(db, query).first<Row>();
      // The database may have lost its answer to this very change, so this refusal does not say that nothing changed.
      if (checked !== undefined && JSON.stringify(row) !== JSON.stringify(checked)) return failed(noun, row);
      checked = row;
      // Nothing to remove is 404, with or without a condition (section 13.2.1).
      if (row === null && method === "DELETE") return undefined;
      const meets = (list: string) => row !== null && matchesAny(list, etagOf(toJson(row)), "weak");
      const isAsAsked = (ifMatch === null || meets(ifMatch)) && (ifNoneMatch === null || !meets(ifNoneMatch));
      return isAsAsked ? undefined : failed(noun, row, " Nothing was changed.");
    },
    guards: () => (checked === undefined ? [] : [guard(db, isStill(query, checked))]),
  };
}

const failed = (noun: string, row: Row | null, outcome = ""): Problem =>
  problem(
    "precondition_failed",
    row === null
      ? `There is no such ${noun} any more.${outcome}`
      : `There is such a ${noun}, which is not as the request expects.${outcome}`,
  );

function isStill({ sql, values }: RowQuery, row: Row | null): Condition {
  if (row === null) return { sql: `NOT EXISTS (SELECT 1 FROM (${sql}))`, values };
  const columns = Object.keys(row).map((column, at) => `"${column}" IS ?${values.length + at + 1}`);
  return {
    sql: `EXISTS (SELECT 1 FROM (${sql}) WHERE ${columns.join(" AND ")})`,
    values: [...values, ...Object.values(row)],
  };
}
