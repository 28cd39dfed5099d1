import * as z from "zod/mini";
import type { Principal } from "../../../http/callers/auth.ts";
import type { DetailType } from "../../../http/errors/detail-types.ts";
import { noSuch, problem, type Problem, type ProblemDetail } from "../../../http/errors/errors.ts";
import { checkPreviousPage, invalidCursor, pageLinks, toPage, type RowRange } from "../../../http/input/paging.ts";
import {
  defineRoute,
  empty,
  json,
  jsonBody,
  optionalJsonBody,
  type Answer,
  type Call,
  type Route,
} from "../../../http/route.ts";
import type { Schema } from "../../../http/input/validate.ts";
import type { AuditRecord } from "../../../platform/ports/audit.ts";
import type { Names } from "../../../platform/model/names.ts";
import { searchText, tenantId } from "../../model/fields.ts";
import type { Dependent } from "../../model/ports.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import { rowStatement, type LoggedField, type RowQuery } from "../../audit/change-store.ts";
import type { TellingCall } from "../../model/ports.ts";
import { listRecordOf, recordOf } from "../../audit/record.ts";
import {
  beyondOrganization,
  guard,
  holds,
  tenantOperator,
  type Condition,
  type TenantOperator,
} from "./within-organization.ts";

/**
 * A resource of the operator service: PUT creates or replaces, GET shows, DELETE removes, GET on the collection lists.
 *
 * A change, its audit row and its revocations are one transaction. References are checked twice: before it by
 * `validate` and `validateRemoval`, which name the cause, and in it by foreign keys and conditions, so that no other
 * change slips in between. If these refuse, the first check runs again and now finds the cause.
 */
export interface Resource<B> {
  /** The resource in messages: `organization`. */
  readonly noun: string;
  /** `/organizations` */
  readonly collection: string;
  /** Name of the last path parameter. */
  readonly key: string;
  readonly params: Schema<Params>;
  /** The resource above this one in the path. `exists` returns a row if it is there. */
  readonly owner?: {
    readonly noun: string;
    readonly params: Schema<Params>;
    exists(params: Params): D1PreparedStatement;
  };
  readonly schema: Schema<B>;
  /** A request may come without a body. */
  readonly bodyOptional?: boolean;
  /** Selects the row that a path names. */
  row(params: Params): RowQuery;
  /** Selects rows `ORDER BY page_key`, from behind `after` on. */
  page(params: Params, page: PageRequest): D1PreparedStatement;
  /** The list takes `?q=`, and `page` gets its text. */
  readonly searched?: true;
  /** The list takes `?tenant=` besides, and `page` gets it. */
  readonly byTenant?: true;
  toJson(row: Row): object;
  /** The fields of the body in the audit log. */
  readonly logged: { readonly [field in keyof B & string]-?: LoggedField };
  /** Returns the reason to refuse a change. */
  validate?(change: Change<B>): Promise<Problem | undefined>;
  put(change: Change<B>, write: WriteWithAudit): Promise<Written>;
  /** Returns the reason to refuse a removal. */
  validateRemoval?(params: Params): Promise<Problem | undefined>;
  /** Returns whether there was something to remove, or a reason to refuse that appeared on the way. */
  remove(removal: Removal, remove: RemoveWithAudit): Promise<boolean | Problem>;
  /** Runs after the answer to every change, even one that failed: it may have been written. */
  afterChange?(): Promise<void>;
  /** Opens the resource to people who run the tenants of one organization. */
  readonly within?: Within<B>;
}

/** The part of a resource that belongs to an organization. */
export interface Within<B> {
  /** True if what the path names belongs to the organization. */
  owns(params: Params, organization: string): Condition;
  /** The organization's rows. Absent: the path of the list names its owner, so `owns` is asked. */
  page?(organization: string, page: PageRequest): D1PreparedStatement;
  /** Absent: these people only see the resource. */
  readonly change?: {
    /** Returns the reason to refuse a PUT for its path and body alone, whatever is stored. */
    refuse?(change: Change<B>, by: TenantOperator): Problem | undefined;
    /** True if the organization may write this. */
    permits(change: Change<B>, organization: string): Condition;
    /** Returns the reason to refuse a PUT that is permitted as such. */
    validate?(change: Change<B>, by: TenantOperator): Promise<Problem | undefined>;
    /** Returns the reason to refuse a removal of something that the organization owns. */
    validateRemoval?(params: Params, by: TenantOperator): Promise<Problem | undefined>;
  };
}

export type Params = Readonly<Record<string, string>>;
export type Row = Readonly<Record<string, string | number | null>>;

export interface PageRequest extends RowRange {
  /** The empty text comes before every key. */
  readonly after: string;
  /** Only rows whose id or name begins with this text. */
  readonly q?: string | undefined;
  /** Only rows of this tenant. */
  readonly tenant?: string | undefined;
}

export interface Change<B> {
  readonly params: Params;
  readonly body: B;
  readonly nowMs: number;
  /** The platform's public origin. */
  readonly origin: string;
  /** For what goes on beside the answer. */
  readonly call: TellingCall;
}

export interface Removal {
  readonly params: Params;
  readonly nowMs: number;
  /** The audit row of the removal. */
  readonly record: AuditRecord;
  /** For what goes on beside the answer. */
  readonly call: TellingCall;
}

/** Runs statements and the audit row of a change as one transaction. */
type WriteWithAudit = (statements: readonly D1PreparedStatement[]) => Promise<Written>;

export interface Written {
  readonly isNew: boolean;
  /** The row after the change. */
  readonly row: Row;
  /** The number of rows that each statement changed. */
  readonly changes: readonly number[];
  /** Fields of this answer alone: a secret that was just made. */
  readonly shownOnce?: object;
}

/** Runs a removal and its audit row as one transaction. Returns whether there was something to remove. */
type RemoveWithAudit = (
  removal: D1PreparedStatement,
  around?: {
    /** Run first, while the row is still there. */
    readonly before?: readonly D1PreparedStatement[];
    /** Runs after the audit row: `changes()` is above 0 if and only if something was removed. */
    readonly after?: D1PreparedStatement;
  },
) => Promise<boolean>;

export interface ResourceDeps {
  readonly db: D1Database;
  readonly names: Names;
  readonly audit: AuditLog;
  /** Drops this isolate's copies of records, after every change. */
  recordsChanged(): void;
}

const NO_PARAMS: Schema<Params> = z.object({});
const NO_SEARCH: Schema<ListQuery> = z.object({});
const SEARCH: Schema<ListQuery> = z.object({ q: z.optional(searchText) });
const SEARCH_OF_TENANT: Schema<ListQuery> = z.object({ q: z.optional(searchText), tenant: z.optional(tenantId) });

type ListQuery = Pick<PageRequest, "q" | "tenant">;
const queryOf = ({ searched, byTenant }: Pick<Resource<never>, "searched" | "byTenant">): Schema<ListQuery> => {
  if (byTenant === true) return SEARCH_OF_TENANT;
  return searched === true ? SEARCH : NO_SEARCH;
};

type AdminCall<B, Q = unknown> = Call<Params, Q, B, Principal>;

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
      query: queryOf(resource),
      paged: true,
      handle: (call) => {
        const record = listRecordOf(call, resource);
        if (record !== undefined) call.waitUntil(deps.audit.listed(record));
        return list(call, resource, deps);
      },
    }),
    defineRoute({
      method: "PUT",
      path: onePath,
      summary: `Make or replace the ${noun}`,
      operation: "putResource",
      params,
      body: resource.bodyOptional === true ? optionalJsonBody(resource.schema) : jsonBody(resource.schema),
      handle: (call) => put(call, resource, deps),
    }),
    defineRoute({
      method: "GET",
      path: onePath,
      summary: `Show the ${noun}`,
      operation: "readResource",
      params,
      handle: async (call) => {
        const by = tenantOperator(call.principal, deps.names, "see");
        if (by !== undefined && !(await owns(call.params, by, resource, deps))) return noSuch(noun);
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

/** True if the path names something of the organization. A resource without `within` has nothing of it. */
const owns = async (
  params: Params,
  { organization }: TenantOperator,
  { within }: Pick<Resource<never>, "within">,
  { db }: Pick<ResourceDeps, "db">,
): Promise<boolean> => within !== undefined && (await holds(db, within.owns(params, organization)));

async function list<B>(
  call: AdminCall<unknown, ListQuery>,
  resource: Resource<B>,
  deps: ResourceDeps,
): Promise<Answer> {
  const { cursor, pageSize, skip } = call.paging;
  const after = cursor?.[0] ?? "";
  if (typeof after !== "string" || (cursor?.length ?? 1) !== 1) return invalidCursor();
  const { owner, within, noun } = resource;
  const by = tenantOperator(call.principal, deps.names, "see");
  if (by !== undefined && within === undefined) return beyondOrganization(by, `The list ${resource.collection}`);
  const pageWithin = by === undefined ? undefined : within?.page;
  if (by !== undefined && pageWithin === undefined && !(await owns(call.params, by, resource, deps)))
    return noSuch(owner?.noun ?? noun);
  if (owner !== undefined && (await owner.exists(call.params).first()) === null) return noSuch(owner.noun);
  const read = async (range: PageRequest): Promise<readonly Row[]> => {
    const all = () => resource.page(call.params, range);
    return (await (by === undefined ? all() : (pageWithin?.(by.organization, range) ?? all())).all<Row>()).results;
  };
  const rows = await read({ ...call.query, after, limit: pageSize + 1, skip });
  const found = toPage(rows, call.paging, (row) => [row["page_key"] ?? null]);
  const page = await checkPreviousPage(found, call.paging, (range) => read({ ...call.query, after: "", ...range }));
  return json(200, page.items.map(resource.toJson), { link: pageLinks(call.url, call.paging, page) });
}

async function put<B>(call: AdminCall<B | undefined>, resource: Resource<B>, deps: ResourceDeps): Promise<Answer> {
  const { params, body, nowMs, url } = call;
  const change: Change<B> = { params, body: body ?? ({} as B), nowMs, origin: url.origin, call };
  const by = tenantOperator(call.principal, deps.names, "run");
  const permitted = by && resource.within?.change?.permits(change, by.organization);
  const validate = async () => (by && (await refuseWithin(change, by, resource, deps))) ?? resource.validate?.(change);
  const refused = await validate();
  if (refused !== undefined) return refused;
  return writeOrExplain(call, resource, deps, validate, async () => {
    const first = permitted === undefined ? [] : [guard(deps.db, permitted)];
    const write: WriteWithAudit = (statements) => writeWithAudit(call, resource, deps, first, statements);
    const written = await resource.put(change, write);
    const { isNew, row, shownOnce } = written;
    const headers: Record<string, string> = shownOnce === undefined ? {} : { "cache-control": "no-store" };
    return json(isNew ? 201 : 200, { ...resource.toJson(row), ...shownOnce }, headers);
  });
}

/** Returns the reason to refuse a PUT by somebody who runs the tenants of one organization. */
async function refuseWithin<B>(
  change: Change<B>,
  by: TenantOperator,
  { within, noun }: Resource<B>,
  { db }: ResourceDeps,
): Promise<Problem | undefined> {
  if (within?.change === undefined) return beyondOrganization(by, `Changing the ${noun}`);
  const { refuse, permits, validate } = within.change;
  const refused = refuse?.(change, by);
  if (refused !== undefined) return refused;
  if (!(await holds(db, permits(change, by.organization)))) return beyondOrganization(by, `The ${noun}`);
  return validate?.(change, by);
}

async function writeWithAudit<B>(
  call: AdminCall<unknown>,
  resource: Resource<B>,
  { db, audit }: ResourceDeps,
  first: readonly D1PreparedStatement[],
  statements: readonly D1PreparedStatement[],
): Promise<Written> {
  const query = resource.row(call.params);
  const found = rowStatement(db, query);
  const { before, row, end } = audit.change("put", recordOf(call, "put", resource), query, resource.logged);
  const results = (await db.batch<Row>([...first, found, before, ...statements, row, end, found])).slice(first.length);
  const after = results.at(-1)?.results[0];
  if (after === undefined) throw new Error(`${resource.noun} is missing after it was written`);
  const changes = results.slice(2, 2 + statements.length).map(({ meta }) => meta.changes);
  return { isNew: results[0]?.results.length === 0, row: after, changes };
}

async function remove<B>(call: AdminCall<unknown>, resource: Resource<B>, deps: ResourceDeps): Promise<Answer> {
  const { params, nowMs } = call;
  const { within, noun } = resource;
  const by = tenantOperator(call.principal, deps.names, "run");
  if (by !== undefined && within?.change === undefined) return beyondOrganization(by, `Changing the ${noun}`);
  const condition = by && within?.owns(params, by.organization);
  const first = condition === undefined ? [] : [guard(deps.db, condition)];
  const validate = async () => {
    if (by === undefined) return resource.validateRemoval?.(params);
    if (!(await owns(params, by, resource, deps))) return noSuch(noun);
    return (await within?.change?.validateRemoval?.(params, by)) ?? resource.validateRemoval?.(params);
  };
  const refused = await validate();
  if (refused !== undefined) return refused;
  const record = recordOf(call, "delete", resource);
  return writeOrExplain(call, resource, deps, validate, async () => {
    const removed = await resource.remove(
      { params, nowMs, record, call },
      async (removal, { before = [], after } = {}) => {
        const audit = deps.audit.change("delete", record, resource.row(params), resource.logged);
        const behind = after === undefined ? [] : [after];
        const statements = [...first, audit.before, ...before, removal, audit.row, ...behind, audit.end];
        const results = await deps.db.batch(statements);
        return results[statements.indexOf(removal)]?.meta.changes !== 0;
      },
    );
    if (typeof removed !== "boolean") return removed;
    if (removed) return empty(204);
    // Either nothing was there, or a change in between made something depend on it.
    return (await validate()) ?? noSuch(resource.noun);
  });
}

/** If the database refuses a write because of a change in between, `validate` finds the cause. */
async function writeOrExplain<B>(
  call: AdminCall<unknown>,
  resource: Resource<B>,
  deps: ResourceDeps,
  validate: () => Promise<Problem | undefined>,
  write: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await write();
  } catch (thrown) {
    const cause = await validate();
    if (cause !== undefined) return cause;
    throw thrown;
  } finally {
    // Even if it failed, it may have been written.
    deps.recordsChanged();
    if (resource.afterChange !== undefined) call.waitUntil(resource.afterChange());
  }
}

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

/** Dependents of a kind that a refusal names: enough to act on. */
const NAMED_DEPENDENTS = 5;
/** The limit of a statement that finds dependents: one more shows that there are more. */
export const DEPENDENTS_LIMIT = NAMED_DEPENDENTS + 1;

/** Refuses the removal of something that statements, or others, find dependents of. */
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

/** Details of a refusal, from the rows `{kind, id}` that statements return, and others. */
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

export const toList = (value: string | number | null | undefined): readonly string[] =>
  JSON.parse(String(value ?? "[]")) as string[];
export const toFlag = (value: string | number | null | undefined): boolean => value === 1;
