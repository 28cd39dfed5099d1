import * as z from "zod/mini";
import type { Principal } from "../../../http/callers/auth.ts";
import { isProblem, noSuch, type Problem } from "../../../http/errors/errors.ts";
import { defineRoute, json, type Answer, type Call, type Route } from "../../../http/route.ts";
import { RIGHTS, type Operation } from "../../../http/callers/rights.ts";
import { matching } from "../../../http/input/validate.ts";
import { rowBy, type AuditTrail } from "../../../platform/ports/audit.ts";
import type { Names } from "../../../platform/model/names.ts";
import { PATTERNS } from "../../../platform/model/names.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import { noteRead } from "../../audit/record.ts";
import { searchText, tenantId } from "../../model/fields.ts";
import { beyondOrganization, holds, ownsTenant, tenantOperator, type Use } from "../shared/within-organization.ts";

/**
 * Operators see and change the files of all clients.
 *
 *   path ──▶ owner: a client, a tenant, private or public ──▶ may the caller? ──▶ the owner's own operation ──▶ audit
 *
 * - People who run an organization's tenants see all files in these tenants, and change the files of the organization's
 *   clients. Files of other tenants answer as if they did not exist.
 * - Reads leave a row in the audit log every ten minutes. Each change leaves a row, written after the change.
 */
interface FileOwner {
  readonly tenant: string;
  readonly client: string;
  readonly visibility: "private" | "public";
}

type OwnOperation =
  | "createFile"
  | "commitFile"
  | "replaceMetadata"
  | "createVariants"
  | "deleteVariants"
  | "createBulkVariants"
  | "deleteFile"
  | "deleteFiles"
  | "listErasures"
  | "readErasure";

/** A call whose input the schemas of the media service have checked. */
type AnyCall = Call<unknown, unknown, unknown, Principal>;

/** The port to the media service: files of all clients, and the owner's own operations on them. */
export interface OperatedFiles {
  shape(operation: OwnOperation): Pick<Route, "query" | "body" | "paged" | "produces">;
  run(operation: OwnOperation, owner: FileOwner, call: AnyCall): Promise<Answer>;
  readonly listQuery: NonNullable<Route["query"]>;
  list(owner: FileOwner, call: AnyCall): Promise<Answer>;
  show(fileId: string, owner: FileOwner, call: AnyCall): Promise<Answer>;
  ownerOf(fileId: string): Promise<FileOwner | undefined>;
  requesterOf(erasureId: string): Promise<FileOwner | undefined>;
  owners(tenant: string): Promise<readonly object[]>;
  waiting(owner: FileOwner): Promise<Answer>;
  /** Finds files by the beginning of their names, in these tenants or in all. */
  find(text: string, tenants: readonly string[] | undefined): Promise<{ readonly more: boolean }>;
}

interface Deps {
  readonly db: D1Database;
  readonly names: Names;
  readonly audit: Pick<AuditLog, "listed"> & Pick<AuditTrail, "statement">;
}

const OF_TENANT = "/tenants/{tenant}/files";
const OF_OWNER = `${OF_TENANT}/{client}/{visibility}`;
const ONE = "/files/{fileId}";
const tenantParams = z.object({ tenant: tenantId });
const ownerParams = z.object({
  tenant: tenantId,
  client: matching(PATTERNS.clientName),
  visibility: z.enum(["private", "public"]),
});
const erasuresParams = z.object({ tenant: tenantId, client: matching(PATTERNS.clientName) });
const fileParams = z.object({ fileId: z.string() });
const erasureParams = z.object({ erasureId: z.string() });

const findQuery = z.object({ q: searchText, tenant: z.optional(tenantId) });

/** If an organization has more tenants, a search without `tenant` covers only the first ones, and says so by `more`. */
const MAX_TENANTS = 1_000;
const OWN_TENANTS = `SELECT id FROM tenant WHERE organization = ?1 ORDER BY id LIMIT ${MAX_TENANTS + 1}`;
const CLIENT = `SELECT tenant FROM client WHERE name = ?1`;
const CLIENT_TENANT = `SELECT 1 FROM client JOIN tenant ON tenant.id = client.tenant
  WHERE client.name = ?1 AND tenant.organization = ?2`;

export function fileRoutes(files: OperatedFiles, deps: Deps): readonly Route[] {
  const { db, names, audit } = deps;

  /** Returns the refusal if the caller may not see, or change, files of this owner. */
  async function refused(
    principal: Principal,
    use: Use,
    { tenant, client }: Pick<FileOwner, "tenant" | "client">,
    what: string,
  ): Promise<Problem | undefined> {
    const by = tenantOperator(principal, names, use);
    if (by === undefined) return undefined;
    if (!(await holds(db, ownsTenant(tenant, by.organization)))) return noSuch(what);
    if (use === "see") return undefined;
    const isOwn = (await db.prepare(CLIENT_TENANT).bind(client, by.organization).first()) !== null;
    return isOwn ? undefined : beyondOrganization(by, "The client that owns the files");
  }

  /** Returns the tenants whose files the caller sees, at most one more than a search covers; undefined: all tenants. */
  async function tenantsOf(principal: Principal): Promise<readonly string[] | undefined> {
    const by = tenantOperator(principal, names, "see");
    if (by === undefined) return undefined;
    const { results } = await db.prepare(OWN_TENANTS).bind(by.organization).all<{ id: string }>();
    return results.map(({ id }) => id);
  }

  async function recorded(answer: Answer, call: AnyCall, action: string, subject: string): Promise<Answer> {
    if (isProblem(answer) || (call.query as { readonly dryRun?: boolean } | undefined)?.dryRun === true) return answer;
    await audit.statement("always", rowBy(call, action, subject, erasureOf(answer))).run();
    return answer;
  }

  /** Makes a route with the parameters, body and answer of the owner's own operation. */
  const own = (
    operation: OwnOperation,
    route: Pick<Route, "method" | "path" | "summary" | "operation" | "params"> & Partial<Pick<Route, "body">>,
    handle: (call: AnyCall) => Promise<Answer>,
  ): Route => ({
    ...files.shape(operation),
    access: RIGHTS[route.operation].access,
    changes: route.method !== "GET",
    ...route,
    handle: handle as Route["handle"],
  });

  /** Makes the route of a change of one owner's files. The path names the owner. */
  const ofOwner = (
    operation: OwnOperation,
    action: string,
    route: Pick<Route, "method" | "path" | "summary" | "operation">,
    check: (owner: FileOwner) => Promise<Problem | undefined> = async () => undefined,
  ): Route =>
    own(operation, { ...route, params: ownerParams }, async (call) => {
      const owner = call.params as FileOwner;
      const problem = (await refused(call.principal, "run", owner, "tenant")) ?? (await check(owner));
      if (problem !== undefined) return problem;
      return recorded(await files.run(operation, owner, call), call, action, subjectOf(owner));
    });

  /** Makes the route of a change of one file. */
  const ofFile = (
    operation: OwnOperation,
    action: string,
    route: Pick<Route, "method" | "path" | "summary" | "operation">,
  ): Route =>
    own(operation, { ...route, params: fileParams }, async (call) => {
      const { fileId } = call.params as z.output<typeof fileParams>;
      const owner = await files.ownerOf(fileId);
      if (owner === undefined) return noSuch("file");
      const problem = await refused(call.principal, "run", owner, "file");
      if (problem !== undefined) return problem;
      return recorded(await files.run(operation, owner, call), call, action, `${subjectOf(owner)}/${fileId}`);
    });

  /** Refuses to create a file for a client of another tenant. */
  async function belongs({ tenant, client }: FileOwner): Promise<Problem | undefined> {
    const home = await db.prepare(CLIENT).bind(client).first<string>("tenant");
    return home === tenant ? undefined : noSuch("client");
  }

  return [
    defineRoute({
      method: "GET",
      path: OF_TENANT,
      summary: "List the clients that have files in a tenant",
      operation: "listFileOwners",
      params: tenantParams,
      async handle({ principal, params: { tenant } }) {
        const problem = await refused(principal, "see", { tenant, client: "" }, "tenant");
        return problem ?? json(200, await files.owners(tenant));
      },
    }),
    {
      ...look(OF_OWNER, "List the files of a client, or search their metadata", "listOperatedFiles"),
      params: ownerParams,
      query: files.listQuery,
      paged: true,
      handle: (async (call: AnyCall) => {
        const owner = call.params as FileOwner;
        const problem = await refused(call.principal, "see", owner, "tenant");
        if (problem !== undefined) return problem;
        return noteRead(files.list(owner, call), subjectOf(owner), call, audit);
      }) as Route["handle"],
    },
    ofOwner(
      "createFile",
      "create file",
      { ...route("POST", OF_OWNER, "createOperatedFile"), summary: "Create the upload link of a client's file" },
      belongs,
    ),
    ofOwner("deleteFiles", "delete files", {
      ...route("DELETE", OF_OWNER, "deleteOperatedFiles"),
      summary: "Delete the files of a client, all or by query, or only count them",
    }),
    ofOwner("createBulkVariants", "make variants", {
      ...route("POST", `${OF_OWNER}/variants`, "createOperatedBulkVariants"),
      summary: "Add variants to many files of a client, a page a call",
    }),
    defineRoute({
      method: "GET",
      path: `${OF_OWNER}/variants`,
      summary: "Count the variants of a client's files that are not made yet",
      operation: "countWaitingVariants",
      params: ownerParams,
      handle: async ({ principal, params }) =>
        (await refused(principal, "see", params, "tenant")) ?? files.waiting(params),
    }),
    defineRoute({
      method: "GET",
      path: "/files",
      summary: "Find files of all clients by the beginning of their names",
      operation: "findFiles",
      query: findQuery,
      async handle(call) {
        const { q, tenant } = call.query;
        const problem = tenant && (await refused(call.principal, "see", { tenant, client: "" }, "tenant"));
        if (problem) return problem;
        const find = async (): Promise<Answer> => {
          const tenants = tenant === undefined ? await tenantsOf(call.principal) : [tenant];
          const found = await files.find(q, tenants?.slice(0, MAX_TENANTS));
          const more = found.more || (tenants?.length ?? 0) > MAX_TENANTS;
          return json(200, { ...found, more }, { "cache-control": "no-store" });
        };
        return noteRead(find(), tenant === undefined ? "files" : `tenants/${tenant}/files`, call, audit);
      },
    }),
    {
      ...look(ONE, "Show a file, its metadata and its variants, with links to them", "readOperatedFile"),
      params: fileParams,
      handle: (async (call: AnyCall) => {
        const { fileId } = call.params as z.output<typeof fileParams>;
        const owner = await files.ownerOf(fileId);
        if (owner === undefined) return noSuch("file");
        const problem = await refused(call.principal, "see", owner, "file");
        if (problem !== undefined) return problem;
        return noteRead(files.show(fileId, owner, call), subjectOf(owner), call, audit);
      }) as Route["handle"],
    },
    ofFile("commitFile", "commit file", {
      ...route("POST", `${ONE}/commit`, "commitOperatedFile"),
      summary: "Commit a client's file",
    }),
    ofFile("replaceMetadata", "change metadata", {
      ...route("PUT", `${ONE}/metadata`, "replaceOperatedMetadata"),
      summary: "Replace the metadata of a client's file",
    }),
    ofFile("createVariants", "make variants", {
      ...route("POST", `${ONE}/variants`, "createOperatedVariants"),
      summary: "Add variants to a client's file",
    }),
    ofFile("deleteVariants", "delete variants", {
      ...route("DELETE", `${ONE}/variants`, "deleteOperatedVariants"),
      summary: "Delete variants of a client's file",
    }),
    ofFile("deleteFile", "delete file", {
      ...route("DELETE", ONE, "deleteOperatedFile"),
      summary: "Delete a client's file",
    }),
    own(
      "listErasures",
      {
        ...route("GET", "/tenants/{tenant}/erasures/{client}", "listOperatedErasures"),
        summary: "List the deletions of a client's files",
        params: erasuresParams,
      },
      async (call) => {
        const params = call.params as z.output<typeof erasuresParams>;
        const owner = { ...params, visibility: "private" } as const;
        const problem = await refused(call.principal, "see", owner, "tenant");
        return problem ?? files.run("listErasures", owner, call);
      },
    ),
    own(
      "readErasure",
      {
        ...route("GET", "/erasures/{erasureId}", "readOperatedErasure"),
        summary: "Read how far a deletion is, and whose files it deletes",
        params: erasureParams,
      },
      async (call) => {
        const owner = await files.requesterOf((call.params as z.output<typeof erasureParams>).erasureId);
        if (owner === undefined) return noSuch("deletion");
        const problem = await refused(call.principal, "see", owner, "deletion");
        if (problem !== undefined) return problem;
        const answer = await files.run("readErasure", owner, call);
        if (isProblem(answer)) return answer;
        return json(200, { ...(await answer.json<object>()), client: owner.client });
      },
    ),
  ];
}

const route = <O extends Operation>(method: Route["method"], path: string, operation: O) => ({
  method,
  path,
  operation,
});

const look = (path: string, summary: string, operation: Operation) =>
  ({
    ...route("GET", path, operation),
    summary,
    access: RIGHTS[operation].access,
    query: undefined,
    body: { kind: "none" },
    paged: false,
    produces: "json",
    changes: false,
  }) as const;

const subjectOf = ({ tenant, client, visibility }: FileOwner): string =>
  `tenants/${tenant}/files/${client}/${visibility}`;

/** Returns the deletion that an answer's `Location` names, for the audit log. */
const erasureOf = (answer: Response): string => {
  const id = /\/erasures\/([0-9a-f]+)$/.exec(answer.headers.get("location") ?? "")?.[1];
  return id === undefined ? "" : `deletion ${id}`;
};
