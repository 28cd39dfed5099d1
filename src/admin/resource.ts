import * as z from "zod/mini";
import type { AuditRecord } from "../platform/audit.ts";
import type { Principal } from "../http/auth.ts";
import type { DetailType } from "../http/detail-types.ts";
import { noSuch, problem, type Problem, type ProblemDetail } from "../http/errors.ts";
import { invalidCursor, checkPreviousPage, pageLinks, toPage } from "../http/paging.ts";
import {
  defineRoute,
  empty,
  json,
  jsonBody,
  optionalJsonBody,
  type Answer,
  type Call,
  type Route,
} from "../http/route.ts";
import type { Schema } from "../http/validate.ts";
import type { AuditLog } from "./audit.ts";
import { listRecordOf, recordOf } from "./audit-record.ts";
import { rowStatement, type LoggedField, type RowQuery } from "./store/changes.ts";

/**
 * What every resource of the operator service has in common (contract section 5): PUT makes or replaces, GET shows,
 * DELETE removes, GET on the collection lists. A resource gives its SQL; this file runs it.
 *
 * A change, its audit row and what it voids are one transaction. References are checked twice: first by `faults` or
 * `users`, so that the answer can name them, then by the database's foreign keys and conditions, so that nothing slips in
 * between. When one of those refuses, the first check is run again and now finds the cause.
 */
export interface Resource<B> {
  /** One of it, for people: `organization`. */
  readonly noun: string;
  /** `/organizations` */
  readonly collection: string;
  /** Name of the last path parameter. */
  readonly key: string;
  readonly params: Schema<Params>;
  /** A collection below another resource: its path parameters, and a statement that finds a row while that exists. */
  readonly owner?: {
    readonly noun: string;
    readonly params: Schema<Params>;
    exists(params: Params): D1PreparedStatement;
  };
  readonly body: Schema<B>;
  /** A body that says nothing may be left out. */
  readonly bodyOptional?: boolean;
  /** The refusal where this one is built in and cannot be changed. */
  builtIn?(params: Params): Problem | undefined;
  put(change: Change<B>): Promise<PutPlan | Problem>;
  /** Rows that stand in the way of this change: `{type, field, message}`; `absent` is a parent that is not there. */
  faults?(change: Change<B>): D1PreparedStatement;
  /** At most one row. */
  row(params: Params): RowQuery;
  /** Every field of the body, as the audit log tells of it. */
  readonly logged: { readonly [field in keyof B & string]-?: LoggedField };
  /** `limit` rows ordered by `page_key`, after `after` or behind `skip`. */
  page(params: Params, page: PageRequest): D1PreparedStatement;
  toJson(row: Row): object;
  /** Work beside the answer, after a change or what may have been one. */
  afterChange?(): Promise<void>;
  remove(params: Params, nowMs: number): RemovePlan | Promise<RemovePlan>;
}

export type Params = Readonly<Record<string, string>>;
export type Row = Readonly<Record<string, string | number | null>>;

export interface PageRequest {
  /** The empty text comes before every key. */
  readonly after: string;
  readonly limit: number;
  readonly skip: number;
}

export interface Change<B> {
  readonly params: Params;
  readonly body: B;
  readonly nowMs: number;
  /** The platform's public origin, where the change came by it. */
  readonly origin?: string;
}

export interface PutPlan {
  readonly writes: readonly D1PreparedStatement[];
  /** Shown in this answer alone, a secret that was just made, if `write` (one of the writes) is what stored it. */
  readonly once?: { readonly fields: object; readonly write: D1PreparedStatement };
  /** Goes on, in transactions of its own, with what one alone does not end; `changes`: rows that each write changed. */
  goOn?(changes: readonly number[]): Promise<void>;
}

export interface RemovePlan {
  /** What uses it: rows `{kind, id}`, `ASKED_USERS` of each at most; any row refuses. */
  readonly users?: readonly D1PreparedStatement[];
  /**
   * Ends before, in transactions of its own with `record` in the first, what the removal would take too long for. Answers
   * the refusal of a removal that has to be repeated.
   */
  first?(record: AuditRecord): Promise<Problem | undefined>;
  /** Run in front of `delete`, and see what is about to go; `record` is the row of the removal. */
  before?(record: AuditRecord): Promise<readonly D1PreparedStatement[]> | readonly D1PreparedStatement[];
  readonly delete: D1PreparedStatement;
  /** Runs behind the audit row, and so with `changes()` above 0 exactly when something was removed. */
  readonly andThen?: D1PreparedStatement;
}

export interface ResourceDeps {
  readonly db: D1Database;
  readonly audit: AuditLog;
  /** Told after every change: this isolate's copies are old. */
  recordsChanged(): void;
}

/** Rows of a kind that a refusal names: enough to act on. */
const NAMED_USERS = 5;
/** Rows to ask the database for: one more tells that there are more. */
export const ASKED_USERS = NAMED_USERS + 1;
const NO_PARAMS: Schema<Params> = z.object({});

type AdminCall<B> = Call<Params, unknown, B, Principal>;

export function resourceRoutes<B>(resource: Resource<B>, deps: ResourceDeps): Route[] {
  const onePath = `${resource.collection}/{${resource.key}}`;
  const { params, noun } = resource;
  return [
    defineRoute({
      method: "GET",
      path: resource.collection,
      summary: `List every ${noun}`,
      operation: "listResources",
      params: resource.owner?.params ?? NO_PARAMS,
      paged: true,
      handle: (call) => {
        const record = listRecordOf(call, resource);
        if (record !== undefined) call.waitUntil(deps.audit.listed(record));
        return list(call, resource);
      },
    }),
    defineRoute({
      method: "PUT",
      path: onePath,
      summary: `Make or replace the ${noun}`,
      operation: "putResource",
      params,
      body: resource.bodyOptional === true ? optionalJsonBody(resource.body) : jsonBody(resource.body),
      handle: (call) => put(call, resource, deps),
    }),
    defineRoute({
      method: "GET",
      path: onePath,
      summary: `Show the ${noun}`,
      operation: "readResource",
      params,
      handle: async (call) => {
        const row = await rowStatement(deps.db, resource.row(call.params)).first<Row>();
        return row === null ? noSuch(noun) : json(200, resource.toJson(row));
      },
    }),
    defineRoute({
      method: "DELETE",
      path: onePath,
      summary: `Remove the ${noun}`,
      operation: "deleteResource",
      params,
      produces: "any",
      handle: (call) => remove(call, resource, deps),
    }),
  ];
}

async function list<B>(call: AdminCall<unknown>, resource: Resource<B>): Promise<Answer> {
  const { cursor, pageSize, skip } = call.paging;
  const after = cursor?.[0] ?? "";
  if (typeof after !== "string" || (cursor?.length ?? 1) !== 1) return invalidCursor();
  const { owner } = resource;
  if (owner !== undefined && (await owner.exists(call.params).first()) === null) return noSuch(owner.noun);
  const read = async (range: PageRequest): Promise<readonly Row[]> =>
    (await resource.page(call.params, range).all<Row>()).results;
  const rows = await read({ after, limit: pageSize + 1, skip });
  const found = toPage(rows, call.paging, (row) => [row["page_key"] ?? null]);
  const page = await checkPreviousPage(found, call.paging, (range) => read({ after: "", ...range }));
  return json(200, page.items.map(resource.toJson), { link: pageLinks(call.url, call.paging, page) });
}

async function put<B>(call: AdminCall<B | undefined>, resource: Resource<B>, deps: ResourceDeps): Promise<Answer> {
  const { params, body, nowMs, url } = call;
  const change: Change<B> = { params, body: body ?? ({} as B), nowMs, origin: url.origin };
  const refused = resource.builtIn?.(call.params) ?? (await findFaults(resource, change));
  if (refused !== undefined) return refused;
  const plan = await resource.put(change);
  if ("problem" in plan) return plan;
  const row = resource.row(call.params);
  const found = rowStatement(deps.db, row);
  const noted = deps.audit.change("put", recordOf(call, "put", resource), row, resource.logged);
  try {
    const results = await deps.db.batch<Row>([found, noted.before, ...plan.writes, ...noted.behind, found]);
    const created = results[0]?.results.length === 0;
    const written = results.at(-1)?.results[0];
    if (written === undefined) throw new Error(`${resource.noun} is missing after it was written`);
    const ofWrites = results.slice(2, 2 + plan.writes.length);
    const stored = plan.once === undefined ? undefined : ofWrites[plan.writes.indexOf(plan.once.write)];
    await plan.goOn?.(ofWrites.map(({ meta }) => meta.changes));
    const shown = stored?.meta.changes === 1 ? plan.once?.fields : undefined;
    const headers: Record<string, string> = shown === undefined ? {} : { "cache-control": "no-store" };
    return json(created ? 201 : 200, { ...resource.toJson(written), ...shown }, headers);
  } catch (thrown) {
    const cause = (await findFaults(resource, change)) ?? (await resource.put(change));
    if ("problem" in cause) return cause;
    throw thrown;
  } finally {
    changed(call, resource, deps);
  }
}

async function remove<B>(call: AdminCall<unknown>, resource: Resource<B>, deps: ResourceDeps): Promise<Answer> {
  const builtIn = resource.builtIn?.(call.params);
  if (builtIn !== undefined) return builtIn;
  const plan = await resource.remove(call.params, call.nowMs);
  const used = await refuseUsed(resource, plan, deps);
  if (used !== undefined) return used;
  const record = recordOf(call, "delete", resource);
  try {
    const unfinished = await plan.first?.(record);
    if (unfinished !== undefined) return unfinished;
    const { before, behind } = deps.audit.change("delete", record, resource.row(call.params), resource.logged);
    const [row, end] = behind;
    const inFront = (await plan.before?.(record)) ?? [];
    const statements = [before, ...inFront, plan.delete, row, plan.andThen, end].filter((one) => one !== undefined);
    const results = await deps.db.batch(statements);
    if (results[statements.indexOf(plan.delete)]?.meta.changes !== 0) return empty(204);
    // Nothing was there, or something came to use it in between.
    return (await refuseUsed(resource, plan, deps)) ?? noSuch(resource.noun);
  } catch (thrown) {
    const cause = await refuseUsed(resource, plan, deps);
    if (cause !== undefined) return cause;
    throw thrown;
  } finally {
    changed(call, resource, deps);
  }
}

/** Whatever became of the answer: it may have been written. */
function changed<B>(call: AdminCall<unknown>, resource: Resource<B>, deps: ResourceDeps): void {
  deps.recordsChanged();
  if (resource.afterChange !== undefined) call.waitUntil(resource.afterChange());
}

interface FaultRow {
  readonly type: DetailType | "absent";
  readonly field: string;
  readonly message: string;
}

/** A parent that is not there is 404, a name that is taken a conflict, whatever else is in the way wrong input. */
async function findFaults<B>(resource: Resource<B>, change: Change<B>): Promise<Problem | undefined> {
  const found = (await resource.faults?.(change).all<FaultRow>())?.results ?? [];
  if (found.length === 0) return undefined;
  const message = found.map((fault) => fault.message).join(" ");
  const details = found.flatMap(({ type, ...rest }) => (type === "absent" ? [] : [{ type, ...rest }]));
  if (details.length < found.length) return problem("element_resource_non_existing", message);
  const isTaken = details.some(({ type }) => type === "taken");
  return problem(isTaken ? "conflict_resource" : "validation_violation", message, { details });
}

async function refuseUsed(
  { noun }: Pick<Resource<unknown>, "noun">,
  plan: RemovePlan,
  deps: ResourceDeps,
): Promise<Problem | undefined> {
  const details = await findUsers(deps, plan.users ?? []);
  if (details.length === 0) return undefined;
  return problem("conflict_resource", `The ${noun} is in use and cannot be removed.`, { details });
}

/** The rows `{kind, id}` of these statements, as a refusal names them. */
export async function findUsers(
  { db }: Pick<ResourceDeps, "db">,
  statements: readonly D1PreparedStatement[],
): Promise<readonly ProblemDetail[]> {
  if (statements.length === 0) return [];
  const found = await db.batch<{ kind: string; id: string }>([...statements]);
  const byKind = Map.groupBy(
    found.flatMap(({ results }) => results),
    ({ kind }) => kind,
  );
  const inUse = (field: string, by: string): ProblemDetail => ({ type: "in_use", field, message: `In use by: ${by}.` });
  return [...byKind].flatMap(([kind, rows]) => [
    ...rows.slice(0, NAMED_USERS).map(({ id }) => inUse(kind, `${kind} ${id}`)),
    ...(rows.length > NAMED_USERS ? [inUse(kind, `more of the kind ${kind}, which are not named here`)] : []),
  ]);
}

/** What the platform brings itself cannot be changed. */
export const builtInRefusal = (noun: string, name: string): Problem =>
  problem("conflict_resource", `The ${noun} ${name} is built in and cannot be changed.`, {
    details: [{ type: "built_in", field: "", message: `The ${noun} ${name} is built in.` }],
  });

export const toList = (value: string | number | null | undefined): readonly string[] =>
  JSON.parse(String(value ?? "[]")) as string[];
export const toFlag = (value: string | number | null | undefined): boolean => value === 1;
