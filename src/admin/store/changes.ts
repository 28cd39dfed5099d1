import { sanitizeForLog } from "../../platform/text.ts";

/**
 * What a change changed, for the audit log. The database itself compares what was there with what is there now, within the
 * transaction of the change: so no row tells of another one's change, whoever wrote at the same moment.
 *
 *   before   the fields as they are, put aside
 *   …        the change
 *   after    the same again; the row is made of the difference; both are removed
 */
export interface RowQuery {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/**
 * A field in the log, by a column of the resource's row, or by SQL over that row, which is called `shown`. Of a secret the
 * log has the name alone; of a list what came and what went.
 */
export type LoggedField = { readonly [kind in "value" | "flag" | "list" | "json" | "secret"]?: string };
export type LoggedFields = Readonly<Record<string, LoggedField>>;

/** As the log shows it. `from` and `to` are absent where there was, or is, nothing; all are where it is a secret. */
export interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}

/** Our choice: elements of a list that a row names, and characters of a text. */
const MOST = { elements: 40, chars: 500 } as const;

const PUT_ASIDE = (moment: "before" | "after", { sql }: RowQuery, fields: LoggedFields): string =>
  `INSERT INTO audit_state (moment, fields) SELECT '${moment}', json_object(${Object.entries(fields)
    .map(([name, field]) => `'${name}', ${sqlOf(field)}`)
    .join(", ")}) FROM (${sql}) AS shown`;
const END = `DELETE FROM audit_state WHERE moment IN ('before', 'after')`;

function sqlOf({ value, flag, list, json, secret }: LoggedField): string {
  if (flag !== undefined) return `json(iif(${flag}, 'true', 'false'))`;
  return list === undefined && json === undefined ? `(${value ?? secret})` : `json(${list ?? json})`;
}

const OF = (moment: "before" | "after"): string => `(SELECT fields FROM audit_state WHERE moment = '${moment}')`;
const IS_NEW = `NOT EXISTS (SELECT 1 FROM audit_state WHERE moment = 'before')`;
const beyond = (one: string, other: string): string => `
  (SELECT json_group_array(substr(value, 1, ${MOST.chars})) FROM
    (SELECT value FROM json_each(${one}) EXCEPT SELECT value FROM json_each(${other}) LIMIT ${MOST.elements + 1}))`;
const plain = (value: string): string =>
  `json(iif(json_type(${value}) = 'text', json_quote(substr(${value} ->> '$', 1, ${MOST.chars})), ${value}))`;
/** `fields`: the names and which of them are secret, as JSON. */
const difference = (fields: string): string => `
  (SELECT json_group_array(json(change)) FROM (
    SELECT CASE
      WHEN secret THEN json_object('field', name)
      WHEN 'array' IN (json_type(was), json_type(is_now)) THEN
        json_object('field', name, 'added', json(${beyond("is_now", "was")}), 'removed', json(${beyond("was", "is_now")}))
      ELSE json_object('field', name, 'from', ${plain("was")}, 'to', ${plain("is_now")}) END AS change
    FROM (SELECT value ->> 'name' AS name, value ->> 'secret' AS secret,
        ${OF("before")} -> (value ->> 'name') AS was, ${OF("after")} -> (value ->> 'name') AS is_now
      FROM json_each(${fields}))
    WHERE coalesce(was, 'null') <> coalesce(is_now, 'null'))
  WHERE change ->> 'added' IS NULL OR change ->> 'added' <> '[]' OR change ->> 'removed' <> '[]')`;

export const rowStatement = (db: D1Database, { sql, values }: RowQuery): D1PreparedStatement =>
  db.prepare(sql).bind(...values);

/** The parts of an audit row that tells of a change: its reason and its changes, and whether there is a row at all. */
export const CHANGED = {
  reason: `iif(${IS_NEW}, 'created', '')`,
  changes: difference,
  isChange: (changes: string): string => `${changes} <> '[]' OR ${IS_NEW}`,
} as const;

export const namesOf = (fields: LoggedFields): string =>
  JSON.stringify(Object.entries(fields).map(([name, { secret }]) => ({ name, secret: Number(secret !== undefined) })));

export const stateStatements = (db: D1Database, row: RowQuery, fields: LoggedFields) => ({
  before: db.prepare(PUT_ASIDE("before", row, fields)).bind(...row.values),
  after: db.prepare(PUT_ASIDE("after", row, fields)).bind(...row.values),
  end: db.prepare(END),
});

/** As the log answers with it: bounded, harmless, and without what is null. */
export function readChanges(stored: string): readonly FieldChange[] {
  return (JSON.parse(stored) as FieldChange[]).map(({ field, from, to, added, removed }) => ({
    field,
    ...(from !== undefined && from !== null && { from: shown(from) }),
    ...(to !== undefined && to !== null && { to: shown(to) }),
    ...(added !== undefined && added.length > 0 && { added: listed(added) }),
    ...(removed !== undefined && removed.length > 0 && { removed: listed(removed) }),
  }));
}

const shown = (value: unknown): unknown => (typeof value === "string" ? sanitizeForLog(value, MOST.chars) : value);
const listed = (values: readonly string[]): readonly string[] => [
  ...values.slice(0, MOST.elements).map((value) => sanitizeForLog(value, MOST.chars)),
  ...(values.length > MOST.elements ? ["…and more"] : []),
];
