import { createAuditLog } from "../../../src/admin/audit/audit-log.ts";
import { createLog, type Log } from "../../../src/platform/runtime/log.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";

/** A log that prints errors, and only records the rest. */
export const LOG: Log = { ...heardLog, error: createLog("error").error };

/** The audit log on this database, and the names. */
export const auditedBy = (db: D1Database) => ({
  names: createNames("plat"),
  audit: createAuditLog({ db, log: LOG, operatorClientId: "plat.operator", wait: async () => {} }),
});
