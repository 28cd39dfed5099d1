import * as z from "zod/mini";
import { conflict, type Problem } from "../http/errors/errors.ts";
import { json, type Answer } from "../http/route.ts";
import { matching } from "../http/input/validate.ts";
import { type AuditRecord, type AuditTrail } from "../platform/ports/audit.ts";

/** A time in ms, or the bookmark that an earlier restore of an object returned. */
export const restoreTo = z.union([
  z.strictObject({ timeMs: z.int().check(z.nonnegative()) }),
  z.strictObject({ bookmark: matching(/^[0-9a-f-]{16,128}$/, "must be a bookmark, as an earlier restore gave it") }),
]);

export const maintenanceOff = (why: string): Problem =>
  conflict("maintenance_off", "", `The platform is not in maintenance: ${why}.`);

export const noPast = (why: string): Problem => conflict("no_past", "", `The object cannot be restored: ${why}`);

/** The end of the reason in the row of a restore: a later restore finds the row of its bookmark by it. */
export const undoneBy = (undo: string): string => `, undo ${undo}`;

/** Answers an operator's restore of an object, and writes its row of the audit log. */
export async function answerAudited(
  audit: Pick<AuditTrail, "statement">,
  row: AuditRecord,
  answer: object,
): Promise<Answer> {
  await audit.statement("always", row).run();
  return json(200, answer);
}
