import type { Problem } from "../../../http/errors/errors.ts";
import type { RowRange } from "../../../http/input/paging.ts";
import type { Schema } from "../../../http/input/validate.ts";
import type { AuditRecord } from "../../../platform/ports/audit.ts";
import type { Names } from "../../../platform/model/names.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import type { LoggedField, RowQuery } from "../../audit/change-store.ts";
import type { TellingCall } from "../../model/ports.ts";
import type { Condition, TenantOperator } from "./within-organization.ts";

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
export type WriteWithAudit = (statements: readonly D1PreparedStatement[]) => Promise<Written>;

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

/** Columns of a row: a list as JSON, and 1 for true. */
export const toList = (value: string | number | null | undefined): readonly string[] =>
  JSON.parse(String(value ?? "[]")) as string[];
export const toFlag = (value: string | number | null | undefined): boolean => value === 1;
