import { sanitizeForLog } from "../../platform/text/text.ts";

/**
 * The fields that a change changed, for the audit log. The database compares them in the transaction of the change, so
 * a row never shows the change of another request that wrote at the same moment.
 *
 *   before   stores the fields as they are
 *   …        the change
 *   row      the audit row takes the difference to the fields as they are now
 *   end      removes what was stored
 */
export interface RowQuery {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/**
 * A field in the log: a column of the resource's row, or SQL over that row, which is called `shown`. For a secret the
 * log has only the name, for a list the added and the removed elements.
 */
export type LoggedField = { readonly [kind in "value" | "flag" | "list" | "json" | "secret"]?: string };
export type LoggedFields = Readonly<Record<string, LoggedField>>;

/** A change in answers. `from` or `to` is missing if there was, or is, no value; a secret has neither. */
export interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}

/** Our choice: elements of a list in a row, and characters of a text. */
const MOST = { elements: 40, chars: 500 } as const;

const fieldsOf = (sql: string, fields: LoggedFields): string =>
  `json_object(${Object.entries(fields)
    .map(([name, field]) => `'${name}', ${sqlOf(field)}`)
    .join(", ")}) FROM (${sql}) AS shown`;
const STORE = ({ sql }: RowQuery, fields: LoggedFields): string =>
  `INSERT INTO audit_state (moment, fields) SELECT 'before', ${fieldsOf(sql, fields)}`;
const END = `DELETE FROM audit_state WHERE moment = 'before'`;

function sqlOf({ value, flag, list, json, secret }: LoggedField): string {
  if (flag !== undefined) return `json(iif(${flag}, 'true', 'false'))`;
  return list === undefined && json === undefined ? `(${value ?? secret})` : `json(${list ?? json})`;
}

const BEFORE = `(SELECT fields FROM audit_state WHERE moment = 'before')`;
const IS_NEW = `NOT EXISTS (SELECT 1 FROM audit_state WHERE moment = 'before')`;
const beyond = (one: string, other: string): string => `
  (SELECT json_group_array(substr(value, 1, ${MOST.chars})) FROM
    (SELECT value FROM json_each(${one}) EXCEPT SELECT value FROM json_each(${other}) LIMIT ${MOST.elements + 1}))`;
const plain = (value: string): string =>
  `json(iif(json_type(${value}) = 'text', json_quote(substr(${value} ->> '$', 1, ${MOST.chars})), ${value}))`;
/** `fields`: the names and whether they are secret, as JSON. `now`: the fields as they are. */
const difference = (fields: string, now: string): string => `
  (SELECT json_group_array(json(change)) FROM (
    SELECT CASE
      WHEN secret THEN json_object('field', name)
      WHEN 'array' IN (json_type(was), json_type(is_now)) THEN
        json_object('field', name, 'added', json(${beyond("is_now", "was")}), 'removed', json(${beyond("was", "is_now")}))
      ELSE json_object('field', name, 'from', ${plain("was")}, 'to', ${plain("is_now")}) END AS change
    FROM (SELECT value ->> 'name' AS name, value ->> 'secret' AS secret,
        ${BEFORE} -> (value ->> 'name') AS was, ${now} -> (value ->> 'name') AS is_now
      FROM json_each(${fields}))
    WHERE coalesce(was, 'null') <> coalesce(is_now, 'null'))
  WHERE change ->> 'added' IS NULL OR change ->> 'added' <> '[]' OR change ->> 'removed' <> '[]')`;

export const rowStatement = (db: D1Database, { sql, values }: RowQuery): D1PreparedStatement =>
  db.prepare(sql).bind(...values);

/** Parts of an audit row about a change: its reason, its changes, and whether there is a row at all. */
export const CHANGED = {
  reason: `iif(${IS_NEW}, 'created', '')`,
  changes: difference,
  isChange: (changes: string): string => `${changes} <> '[]' OR ${IS_NEW}`,
} as const;

export const namesOf = (fields: LoggedFields): string =>
  JSON.stringify(Object.entries(fields).map(([name, { secret }]) => ({ name, secret: Number(secret !== undefined) })));

export const stateStatements = (db: D1Database, row: RowQuery, fields: LoggedFields) => ({
  before: db.prepare(STORE(row, fields)).bind(...row.values),
  end: db.prepare(END),
});

/** SQL: the fields as they are now. The row's parameters come behind `count` others. */
export const fieldsNow = ({ sql }: RowQuery, fields: LoggedFields, count: number): string =>
  `(SELECT ${fieldsOf(
    sql.replaceAll(/\?(\d+)/g, (_, number: string) => `?${Number(number) + count}`),
    fields,
  )})`;

/** The changes in answers: bounded, sanitized, without null. */
export function readChanges(json: string): readonly FieldChange[] {
  return (JSON.parse(json) as FieldChange[]).map(({ field, from, to, added, removed }) => ({
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
