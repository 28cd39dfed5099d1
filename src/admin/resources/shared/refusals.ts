import type { DetailType } from "../../../http/errors/detail-types.ts";
import { problem, type Problem, type ProblemDetail } from "../../../http/errors/errors.ts";
import type { Dependent } from "../../model/ports.ts";

/** A reason to refuse a change, as statements select it. */
interface FaultRow {
  readonly type: DetailType;
  readonly field: string;
  readonly message: string;
}

/**
 * Refuses a change for which a statement finds rows `{type, field, message}`: 404 if one is `absent` (a part of the
 * path), else 409 if one is `taken`, else 400.
 */
export async function refuseFaults(statement: D1PreparedStatement): Promise<Problem | undefined> {
  const found = (await statement.all<FaultRow>()).results;
  if (found.length === 0) return undefined;
  const message = found.map((fault) => fault.message).join(" ");
  const has = (wanted: DetailType): boolean => found.some(({ type }) => type === wanted);
  const type = has("absent")
    ? "element_resource_non_existing"
    : has("taken")
      ? "conflict_resource"
      : "validation_violation";
  return problem(type, message, { details: found });
}

/** The number of dependents of a kind that a refusal names, which is enough to act on. */
const NAMED_DEPENDENTS = 5;
/** The limit of a statement that finds dependents. The additional row shows that there are more. */
export const DEPENDENTS_LIMIT = NAMED_DEPENDENTS + 1;

/** Refuses a removal if the statements find dependents, or if there are `others`. */
export async function refuseDependents(
  db: D1Database,
  noun: string,
  statements: readonly D1PreparedStatement[],
  others?: Promise<readonly Dependent[]>,
): Promise<Problem | undefined> {
  const details = await findDependents(db, statements, others);
  if (details.length === 0) return undefined;
  return problem("conflict_resource", `The ${noun} is in use and cannot be removed.`, { details });
}

/** Returns the details of a refusal, from the rows `{kind, id}` of the statements and from `others`. */
export async function findDependents(
  db: D1Database,
  statements: readonly D1PreparedStatement[],
  others: Promise<readonly Dependent[]> = Promise.resolve([]),
): Promise<readonly ProblemDetail[]> {
  const [found, more] = await Promise.all([db.batch<Dependent>([...statements]), others]);
  const byKind = Map.groupBy([...found.flatMap(({ results }) => results), ...more], ({ kind }) => kind);
  const inUse = (field: string, by: string): ProblemDetail => ({ type: "in_use", field, message: `In use by: ${by}.` });
  return [...byKind].flatMap(([kind, rows]) => [
    ...rows.slice(0, NAMED_DEPENDENTS).map(({ id }) => inUse(kind, `${kind} ${id}`)),
    ...(rows.length > NAMED_DEPENDENTS ? [inUse(kind, `more of the kind ${kind}`)] : []),
  ]);
}

export const hasUser = async (db: D1Database, email: string): Promise<boolean> =>
  (await db.prepare(`SELECT 1 FROM user WHERE email = ?1`).bind(email).first()) !== null;
