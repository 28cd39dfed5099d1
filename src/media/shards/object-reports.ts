import type { NearQuota, ObjectReport } from "../files/usage-store.ts";

/** The contents of tenant objects. The last sweep of each object told the directory, so sums ask no object. */
export interface ObjectReports {
  report(object: number, report: ObjectReport, nowMs: number): Promise<void>;
  /** A sweep failed: the next one is due since then. */
  failed(object: number, nowMs: number): Promise<void>;
  sums(): Promise<Pick<ObjectReport, "files" | "bytes">>;
  byTenant(from: string, before: string): Promise<readonly TenantReport[]>;
  /** Tenants that have used at least this share of a quota, among the first objects. */
  nearQuota(share: number, among: number, limit: number): Promise<readonly NearQuota[]>;
  /** The objects of these tenants, or of all tenants, up to a number. */
  ofTenants(tenants: readonly string[] | undefined, limit: number): Promise<readonly number[]>;
  /** Objects with larger numbers than `after`, in order. */
  page(after: number, limit: number): Promise<readonly { readonly number: number }[]>;
}

interface TenantReport {
  readonly tenant: string;
  readonly files: number;
  readonly bytes: number;
}
