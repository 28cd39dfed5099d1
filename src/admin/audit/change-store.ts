import { sanitizeForLog } from "../../platform/text/text.ts";

/**
 * The fields that a change changed, for the audit log. The database compares them in the transaction of the change, so
 * a row never shows the change of another request that wrote at the same moment.
 *
 *   before   writes the audit row, without an outcome, with the old fields
 *   …        the change
 *   row      sets the outcome, and replaces the old fields by their difference to the new ones
 *   end      removes the row if it has no outcome, since nothing changed
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
function sqlOf({ value, flag, list, json, secret }: LoggedField): string {
  if (flag !== undefined) return `json(iif(${flag}, 'true', 'false'))`;
  return list === undefined && json === undefined ? `(${value ?? secret})` : `json(${list ?? json})`;
}

/** Finds the row of this change without an index: it is among the newest, since a transaction writes few rows. */
const PENDING = `
  SELECT seq, nullif(changes, '') AS fields FROM audit_entry
  WHERE outcome = '' AND seq > (SELECT max(seq) FROM audit_entry) - 64 ORDER BY seq DESC LIMIT 1`;
const END = `DELETE FROM audit_entry WHERE seq = (SELECT seq FROM (${PENDING}))`;
/** ?1: the outcome, ?2: the names of the fields. */
const finish = (now: string, isChange: string): string => `
  UPDATE audit_entry SET outcome = ?1, reason = iif(found.fields IS NULL, 'created', audit_entry.reason), changes = found.changes
  FROM (SELECT seq, fields, ${difference("?2", now)} AS changes FROM (${PENDING})) AS found
  WHERE audit_entry.seq = found.seq AND ${isChange}`;
const beyond = (one: string, other: string): string => `
  (SELECT json_group_array(substr(value, 1, ${MOST.chars})) FROM
    (SELECT value FROM json_each(${one}) EXCEPT SELECT value FROM json_each(${other}) LIMIT ${MOST.elements + 1}))`;
const plain = (value: string): string =>
  `json(iif(json_type(${value}) = 'text', json_quote(substr(${value} ->> '$', 1, ${MOST.chars})), ${value}))`;
/** `names`: the names and whether they are secret, as JSON. `now`: the fields as they are; `fields`: as they were. */
const difference = (names: string, now: string): string => `
  (SELECT json_group_array(json(change)) FROM (
    SELECT CASE
      WHEN secret THEN json_object('field', name)
      WHEN 'array' IN (json_type(was), json_type(is_now)) THEN
        json_object('field', name, 'added', json(${beyond("is_now", "was")}), 'removed', json(${beyond("was", "is_now")}))
      ELSE json_object('field', name, 'from', ${plain("was")}, 'to', ${plain("is_now")}) END AS change
    FROM (SELECT value ->> 'name' AS name, value ->> 'secret' AS secret,
        fields -> (value ->> 'name') AS was, ${now} -> (value ->> 'name') AS is_now
      FROM json_each(${names}))
    WHERE coalesce(was, 'null') <> coalesce(is_now, 'null'))
  WHERE change ->> 'added' IS NULL OR change ->> 'added' <> '[]' OR change ->> 'removed' <> '[]')`;

export const rowStatement = (db: D1Database, { sql, values }: RowQuery): D1PreparedStatement =>
  db.prepare(sql).bind(...values);

const namesOf = (fields: LoggedFields): string =>
  JSON.stringify(Object.entries(fields).map(([name, { secret }]) => ({ name, secret: Number(secret !== undefined) })));

/** Sets the outcome of the waiting row, or removes it. */
export function pendingStatements(
  db: D1Database,
  kind: "put" | "delete",
  outcome: string,
  row: RowQuery,
  fields: LoggedFields,
) {
  const finished =
    kind === "put"
      ? db
          .prepare(finish(fieldsNow(row, fields, 2), "(found.changes <> '[]' OR found.fields IS NULL)"))
          .bind(outcome, namesOf(fields), ...row.values)
      : db.prepare(finish("NULL", "changes() > 0")).bind(outcome, namesOf(fields));
  return { row: finished, end: db.prepare(END) };
}

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
