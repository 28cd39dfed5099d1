import * as z from "zod/mini";
import type { Principal } from "../../../http/callers/auth.ts";
import { noSuch, type Problem } from "../../../http/errors/errors.ts";
import { pageOf, invalidCursor, type RowRange } from "../../../http/input/paging.ts";
import {
  defineRoute,
  empty,
  json,
  jsonBody,
  jsonPage,
  optionalJsonBody,
  type Answer,
  type Call,
  type Route,
} from "../../../http/route.ts";
import type { Schema } from "../../../http/input/validate.ts";
import { searchText, tenantId } from "../../model/fields.ts";
import { matchesAny } from "../../../platform/text/entity-tag.ts";
import { rowStatement } from "../../audit/change-store.ts";
import { listSubjectOf, noteRead, recordOf } from "../../audit/record.ts";
import {
  beyondOrganization,
  guard,
  holds,
  refuseManyEnded,
  tenantOperator,
  type TenantOperator,
} from "./within-organization.ts";
import { etagOf, preconditions } from "./preconditions.ts";
import type { Change, PageRequest, Params, Resource, ResourceDeps, Row, WriteWithAudit, Written } from "./resource.ts";

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
        const [page, subject] = [list(call, resource, deps), listSubjectOf(resource)];
        return subject === undefined ? page : noteRead(page, subject, call, deps.audit);
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
        if (row === null) return noSuch(noun);
        const shown = resource.toJson(row);
        const etag = etagOf(shown);
        const isKnown = matchesAny(call.request.headers.get("if-none-match") ?? "", etag, "weak");
        return isKnown ? empty(304, { etag }) : json(200, shown, { etag });
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

/** True if the path names a record of the organization. A resource without `within` has no such records. */
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
  const { cursor } = call.paging;
  const after = cursor?.[0] ?? "";
  if (typeof after !== "string" || (cursor?.length ?? 1) !== 1) return invalidCursor();
  const { owner, within, noun } = resource;
  const by = tenantOperator(call.principal, deps.names, "see");
  if (by !== undefined && within === undefined) return beyondOrganization(by, `The list ${resource.collection}`);
  const pageWithin = by === undefined ? undefined : within?.page;
  if (by !== undefined && pageWithin === undefined && !(await owns(call.params, by, resource, deps)))
    return noSuch(owner?.noun ?? noun);
  if (owner !== undefined && (await owner.exists(call.params).first()) === null) return noSuch(owner.noun);
  const read = async (from: string, range: RowRange): Promise<readonly Row[]> => {
    const asked: PageRequest = { ...call.query, after: from, ...range };
    const all = () => resource.page(call.params, asked);
    return (await (by === undefined ? all() : (pageWithin?.(by.organization, asked) ?? all())).all<Row>()).results;
  };
  const keyOf = (row: Row) => [row["page_key"] ?? null];
  const page = await pageOf(call.paging, { after, beginning: "", read, keyOf });
  return jsonPage(call, page, resource.toJson);
}

async function put<B>(call: AdminCall<B | undefined>, resource: Resource<B>, deps: ResourceDeps): Promise<Answer> {
  const { params, body, nowMs, url } = call;
  const by = tenantOperator(call.principal, deps.names, "run");
  const change: Change<B> = { params, body: body ?? ({} as B), nowMs, origin: url.origin, call, by };
  const permitted = by && resource.within?.change?.permits(change, by.organization);
  const asked = preconditions(deps.db, call.request, resource.row(params), resource);
  const validate = async () =>
    (by && (await refuseWithin(change, by, resource, deps))) ??
    (await resource.validate?.(change)) ??
    (await asked.check());
  const refused = await validate();
  if (refused !== undefined) return refused;
  return writeOrExplain(call, resource, deps, by, validate, async () => {
    const guards = {
      first: [...(permitted === undefined ? [] : [guard(deps.db, permitted)]), ...asked.guards()],
      last: guardEnded(by, deps),
    };
    const write: WriteWithAudit = (statements) => writeWithAudit(call, resource, deps, guards, statements);
    const written = await resource.put(change, write);
    const { isNew, row, shownOnce } = written;
    const headers: Record<string, string> = shownOnce === undefined ? {} : { "cache-control": "no-store" };
    return json(isNew ? 201 : 200, { ...resource.toJson(row), ...shownOnce }, headers);
  });
}

/** Returns the reason to refuse a PUT by a person who runs the tenants of one organization. */
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
  { first, last }: Readonly<Record<"first" | "last", readonly D1PreparedStatement[]>>,
  statements: readonly D1PreparedStatement[],
): Promise<Written> {
  const query = resource.row(call.params);
  const found = rowStatement(db, query);
  const { before, row, end } = audit.change("put", recordOf(call, "put", resource), query, resource.logged);
  const batch = [...first, found, before, ...statements, row, end, ...last, found];
  const results = (await db.batch<Row>(batch)).slice(first.length);
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
  const asked = preconditions(deps.db, call.request, resource.row(params), resource);
  const validate = async () => {
    if (by !== undefined && !(await owns(params, by, resource, deps))) return noSuch(noun);
    return (
      (by && (await within?.change?.validateRemoval?.(params, by))) ??
      (await resource.validateRemoval?.(params)) ??
      (await asked.check())
    );
  };
  const refused = await validate();
  if (refused !== undefined) return refused;
  const record = recordOf(call, "delete", resource);
  return writeOrExplain(call, resource, deps, by, validate, async () => {
    const removed = await resource.remove(
      { params, nowMs, record, call, by },
      async (removal, { before = [], after } = {}) => {
        const audit = deps.audit.change("delete", record, resource.row(params), resource.logged);
        const behind = after === undefined ? [] : [after];
        const statements = [
          ...(condition === undefined ? [] : [guard(deps.db, condition)]),
          ...asked.guards(),
          audit.before,
          ...before,
          removal,
          audit.row,
          ...behind,
          audit.end,
          ...guardEnded(by, deps),
        ];
        const results = await deps.db.batch(statements);
        return results[statements.indexOf(removal)]?.meta.changes !== 0;
      },
    );
    if (typeof removed !== "boolean") return removed;
    if (removed) return empty(204);
    // The record did not exist, or a concurrent change created a dependent.
    return (await validate()) ?? noSuch(resource.noun);
  });
}

/** Rolls back a change with which the organization's administrators would revoke more than they may. */
const guardEnded = (by: TenantOperator | undefined, { oauth }: ResourceDeps): readonly D1PreparedStatement[] =>
  by === undefined ? [] : [oauth.endedGuard(by.organization)];

/** Writes. If the database refuses the write because of a concurrent change, `validate` finds the cause. */
async function writeOrExplain<B>(
  call: AdminCall<unknown>,
  resource: Resource<B>,
  deps: ResourceDeps,
  by: TenantOperator | undefined,
  validate: () => Promise<Problem | undefined>,
  write: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await write();
  } catch (thrown) {
    const cause = (await validate()) ?? (by && (await refuseManyEnded(by, deps.oauth)));
    if (cause !== undefined) return cause;
    throw thrown;
  } finally {
    // A write that failed may have been stored.
    deps.recordsChanged();
    if (resource.afterChange !== undefined) call.waitUntil(resource.afterChange());
  }
}
