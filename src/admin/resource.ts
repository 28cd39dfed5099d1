import type { Principal } from "../http/auth.ts";
import { notFound, problem, type Problem } from "../http/errors.ts";
import { pageLinks, toPage, type Paging } from "../http/paging.ts";
import { defineRoute, empty, json, jsonBody, scoped, type Call, type Route } from "../http/route.ts";
import type { Schema } from "../http/validate.ts";
import * as z from "zod/mini";
import { auditStatement } from "./audit.ts";

/**
 * What every resource of the operator service has in common (contract section 5): PUT makes or replaces, GET shows,
 * DELETE removes, GET on the collection lists. A resource gives its SQL; this file runs it.
 *
 * A change and its audit row are one transaction. References are checked twice: first by `faults` or `users`, so that
 * the answer can name them, then by the database's foreign keys, so that nothing slips in between. When a key does
 * refuse, the first check is run again and now finds the cause.
 */
export interface Resource<B> {
  /** One of it, for people: `organization`. */
  readonly noun: string;
  /** `/organizations` */
  readonly collection: string;
  /** Name of the last path parameter. */
  readonly key: string;
  readonly params: Schema<Params>;
  /** Of the collection, where it lies below another resource. */
  readonly ownerParams?: Schema<Params>;
  readonly body: Schema<B>;
  put(change: Change<B>): Promise<PutPlan | Problem>;
  /** Rows that stand in the way of this change: `{type, field, message}`. */
  faults?(change: Change<B>): D1PreparedStatement;
  /** At most one row. */
  select(params: Params): D1PreparedStatement;
  /** `pageSize + 1` rows ordered by the key, after the cursor or behind `skip`. */
  page(params: Params, paging: Paging): D1PreparedStatement;
  toJson(row: Row): object;
  /** Undefined for what is built in and has no row. */
  remove(params: Params, nowMs: number): RemovePlan | Problem;
}

export type Params = Readonly<Record<string, string>>;
export type Row = Readonly<Record<string, string | number | null>>;

export interface Change<B> {
  readonly params: Params;
  readonly body: B;
  readonly nowMs: number;
}

export interface PutPlan {
  readonly writes: readonly D1PreparedStatement[];
  /** Shown in this answer alone: a secret that was just made. */
  readonly once?: object;
}

export interface RemovePlan {
  /** What uses it: rows `{kind, id}`, a few of them; any row refuses. */
  readonly users?: D1PreparedStatement;
  /** The resource's own row last: whether that one changed anything decides about the audit row. */
  readonly deletes: readonly D1PreparedStatement[];
}

export interface ResourceDeps {
  readonly db: D1Database;
  /** Told after every change: this isolate's copies are old. */
  recordsChanged(): void;
}

/** Rows that a refusal names: enough to act on. */
export const NAMED_USERS = 5;
const CONFIGURE = scoped("admin");
const NO_PARAMS: Schema<Params> = z.object({});

export function resourceRoutes<B>(resource: Resource<B>, deps: ResourceDeps): Route[] {
  const onePath = `${resource.collection}/{${resource.key}}`;
  const { params } = resource;
  return [
    defineRoute({
      method: "GET",
      path: resource.collection,
      summary: `List every ${resource.noun}`,
      access: CONFIGURE,
      params: resource.ownerParams ?? NO_PARAMS,
      paged: true,
      handle: (call) => list(call, resource),
    }),
    defineRoute({
      method: "PUT",
      path: onePath,
      summary: `Make or replace the ${resource.noun}`,
      access: CONFIGURE,
      params,
      body: jsonBody(resource.body),
      handle: (call) => put(call, resource, deps),
    }),
    defineRoute({
      method: "GET",
      path: onePath,
      summary: `Show the ${resource.noun}`,
      access: CONFIGURE,
      params,
      handle: async (call) => {
        const row = await resource.select(call.params).first<Row>();
        return row === null ? notFound(resource.noun) : json(200, resource.toJson(row));
      },
    }),
    defineRoute({
      method: "DELETE",
      path: onePath,
      summary: `Remove the ${resource.noun}`,
      access: CONFIGURE,
      params,
      produces: "any",
      handle: (call) => remove(call, resource, deps),
    }),
  ];
}

async function list<B>(call: Call<Params, unknown, unknown, Principal>, resource: Resource<B>): Promise<Response> {
  const { results } = await resource.page(call.params, call.paging).all<Row>();
  const page = toPage(results, call.paging, (row) => [row["page_key"] ?? null]);
  return json(200, page.items.map(resource.toJson), { link: pageLinks(call.url, call.paging, page) });
}

async function put<B>(
  call: Call<Params, unknown, B, Principal>,
  resource: Resource<B>,
  deps: ResourceDeps,
): Promise<Response | Problem> {
  const change: Change<B> = { params: call.params, body: call.body, nowMs: call.nowMs };
  const refused = await findFaults(resource, change);
  if (refused !== undefined) return refused;
  const plan = await resource.put(change);
  if ("problem" in plan) return plan;
  const select = resource.select(call.params);
  try {
    const results = await deps.db.batch<Row>([select, ...plan.writes, audited(call, "put", "always", deps), select]);
    const created = results[0]?.results.length === 0;
    const row = results.at(-1)?.results[0];
    if (row === undefined) throw new Error(`${resource.noun} is missing after it was written`);
    deps.recordsChanged();
    return json(created ? 201 : 200, { ...resource.toJson(row), ...plan.once });
  } catch (thrown) {
    const cause = await findFaults(resource, change);
    if (cause !== undefined) return cause;
    throw thrown;
  }
}

async function remove<B>(
  call: Call<Params, unknown, unknown, Principal>,
  resource: Resource<B>,
  deps: ResourceDeps,
): Promise<Response | Problem> {
  const plan = resource.remove(call.params, call.nowMs);
  if ("problem" in plan) return plan;
  const used = await findUsers(resource.noun, plan);
  if (used !== undefined) return used;
  const select = resource.select(call.params);
  try {
    const results = await deps.db.batch<Row>([select, ...plan.deletes, audited(call, "delete", "if changed", deps)]);
    if (results[0]?.results.length === 0) return notFound(resource.noun);
    deps.recordsChanged();
    return empty(204);
  } catch (thrown) {
    const cause = await findUsers(resource.noun, plan);
    if (cause !== undefined) return cause;
    throw thrown;
  }
}

const audited = (
  call: Call<Params, unknown, unknown, Principal>,
  action: string,
  when: "always" | "if changed",
  deps: ResourceDeps,
): D1PreparedStatement =>
  auditStatement(deps.db, when, {
    atMs: call.nowMs,
    requestId: call.requestId,
    actor: call.principal.clientId,
    action,
    subject: call.url.pathname.slice(call.url.pathname.indexOf("/admin/v1/") + "/admin/v1/".length),
  });

/** A name that is taken is a conflict; whatever else is in the way is wrong input. */
async function findFaults<B>(resource: Resource<B>, change: Change<B>): Promise<Problem | undefined> {
  const found = await resource.faults?.(change).all<{ type: string; field: string; message: string }>();
  const details = found?.results ?? [];
  if (details.length === 0) return undefined;
  const message = details.map((detail) => detail.message).join(" ");
  const taken = details.some((detail) => detail.type === "taken");
  return problem(taken ? "conflict_resource" : "validation_violation", message, { details });
}

async function findUsers(noun: string, plan: RemovePlan): Promise<Problem | undefined> {
  const found = await plan.users?.all<{ kind: string; id: string }>();
  const users = found?.results ?? [];
  if (users.length === 0) return undefined;
  const details = users.map(({ kind, id }) => ({ type: "in_use", field: kind, message: `The ${kind} ${id} uses it.` }));
  return problem("conflict_resource", `The ${noun} is in use and cannot be removed.`, { details });
}

/** What the platform brings itself cannot be changed. */
export const builtInRefusal = (noun: string, name: string): Problem =>
  problem("conflict_resource", `The ${noun} ${name} is built in and cannot be changed.`, {
    details: [{ type: "built_in", field: "", message: `The ${noun} ${name} is built in.` }],
  });

export const toList = (value: string | number | null | undefined): readonly string[] =>
  JSON.parse(String(value ?? "[]")) as string[];
export const toFlag = (value: string | number | null | undefined): boolean => value === 1;
