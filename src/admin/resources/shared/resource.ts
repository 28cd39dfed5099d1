import type { Problem } from "../../../http/errors/errors.ts";
import type { RowRange } from "../../../http/input/paging.ts";
import type { Schema } from "../../../http/input/validate.ts";
import type { AuditRecord } from "../../../platform/ports/audit.ts";
import type { Names } from "../../../platform/model/names.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import type { LoggedField, LoggedFields, RowQuery } from "../../audit/change-store.ts";
import type { OAuthPort, TellingCall } from "../../model/ports.ts";
import type { Condition, TenantOperator } from "./within-organization.ts";

/**
 * A resource of the operator service: PUT creates or replaces, GET shows, DELETE removes, GET on the collection lists.
 *
 * A change, its audit row and its revocations are one transaction. References are checked twice. Before the
 * transaction, `validate` and `validateRemoval` check them and name the cause. In the transaction, foreign keys and
 * conditions check them again, because of concurrent changes. If these refuse, the first check runs again and then
 * finds the cause.
 */
export interface Resource<B> {
  /** The name of the resource in messages, such as `organization`. */
  readonly noun: string;
  /** The path of the collection, such as `/organizations`. */
  readonly collection: string;
  /** The name of the last path parameter. */
  readonly key: string;
  readonly params: Schema<Params>;
  /** The resource above this one in the path. `exists` returns a row if the resource exists. */
  readonly owner?: {
    readonly noun: string;
    readonly params: Schema<Params>;
    exists(params: Params): D1PreparedStatement;
  };
  readonly schema: Schema<B>;
  /** True if a request may have no body. */
  readonly bodyOptional?: boolean;
  /** Selects the row that a path names. */
  row(params: Params): RowQuery;
  /** Selects rows after `after`, `ORDER BY page_key`. */
  page(params: Params, page: PageRequest): D1PreparedStatement;
  /** True if the list takes `?q=`, which `page` gets. */
  readonly searched?: true;
  /** True if the list takes `?tenant=` too, which `page` gets. */
  readonly byTenant?: true;
  toJson(row: Row): object;
  /** The fields of the body that the audit log compares, and others that change with them. */
  readonly logged: { readonly [field in keyof B & string]-?: LoggedField } & LoggedFields;
  /** Returns the reason to refuse a change. */
  validate?(change: Change<B>): Promise<Problem | undefined>;
  put(change: Change<B>, write: WriteWithAudit): Promise<Written>;
  /** Returns the reason to refuse a removal. */
  validateRemoval?(params: Params): Promise<Problem | undefined>;
  /** Returns whether the record existed, or a reason to refuse that appeared during the removal. */
  remove(removal: Removal, remove: RemoveWithAudit): Promise<boolean | Problem>;
  /** Runs after the answer to every change, also after a failed one, which may have been stored. */
  afterChange?(): Promise<void>;
  /** Gives people who run the tenants of one organization access to the resource. */
  readonly within?: Within<B>;
}

/** The part of a resource that belongs to an organization. */
interface Within<B> {
  /** True if the record that the path names belongs to the organization. */
  owns(params: Params, organization: string): Condition;
  /** Selects the organization's rows. Absent: the path of the list names its owner, so `owns` decides. */
  page?(organization: string, page: PageRequest): D1PreparedStatement;
  /** Absent: these people can only see the resource. */
  readonly change?: {
    /** Returns the reason to refuse a PUT for its path and body alone, whatever is stored. */
    refuse?(change: Change<B>, by: TenantOperator): Problem | undefined;
    /** True if the organization may make this change. */
    permits(change: Change<B>, organization: string): Condition;
    /** Returns a further reason to refuse a PUT that `permits` allows. */
    validate?(change: Change<B>, by: TenantOperator): Promise<Problem | undefined>;
    /** Returns the reason to refuse the removal of a record that the organization owns. */
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
  /** The call, for work that continues after the answer. */
  readonly call: TellingCall;
  /** Undefined: an operator of the platform makes the change. */
  readonly by: TenantOperator | undefined;
}

interface Removal {
  readonly params: Params;
  readonly nowMs: number;
  /** The audit row of the removal. */
  readonly record: AuditRecord;
  /** The call, for work that continues after the answer. */
  readonly call: TellingCall;
  /** Undefined: an operator of the platform removes the record. */
  readonly by: TenantOperator | undefined;
}

/** Runs statements and the audit row of a change as one transaction. */
export type WriteWithAudit = (statements: readonly D1PreparedStatement[]) => Promise<Written>;

export interface Written {
  readonly isNew: boolean;
  /** The row after the change. */
  readonly row: Row;
  /** The number of rows that each statement changed. */
  readonly changes: readonly number[];
  /** Fields that only this answer shows, such as a new secret. */
  readonly shownOnce?: object;
}

/** Runs a removal and its audit row as one transaction. Returns whether the record existed. */
type RemoveWithAudit = (
  removal: D1PreparedStatement,
  around?: {
    /** Statements that run first, while the row still exists. */
    readonly before?: readonly D1PreparedStatement[];
    /** A statement that runs after the audit row, where `changes()` is above 0 if and only if a row was removed. */
    readonly after?: D1PreparedStatement;
  },
) => Promise<boolean>;

export interface ResourceDeps {
  readonly db: D1Database;
  readonly names: Names;
  readonly audit: AuditLog;
  readonly oauth: Pick<OAuthPort, "endedGuard" | "hasEndedMost">;
  /** Drops this isolate's cached records. Every change calls it. */
  recordsChanged(): void;
}

/** Reads a column with a list as JSON. */
export const toList = (value: string | number | null | undefined): readonly string[] =>
  JSON.parse(String(value ?? "[]")) as string[];
/** Reads a column that is 1 for true. */
export const toFlag = (value: string | number | null | undefined): boolean => value === 1;
