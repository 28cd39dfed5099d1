import * as z from "zod/mini";
import type { DetailType } from "../http/errors/detail-types.ts";
import { problem, type Problem } from "../http/errors/errors.ts";
import { matching } from "../http/input/validate.ts";

/** A time in ms, or the bookmark that an earlier restore of an object returned. */
export const restoreTo = z.union([
  z.strictObject({ timeMs: z.int().check(z.nonnegative()) }),
  z.strictObject({ bookmark: matching(/^[0-9a-f-]{16,128}$/) }),
]);

export const maintenanceOff = (why: string): Problem =>
  conflict("maintenance_off", `The platform is not in maintenance: ${why}.`);

export const noPast = (why: string): Problem => conflict("no_past", `The object cannot be restored: ${why}`);

const conflict = (type: DetailType, message: string): Problem =>
  problem("conflict_resource", message, { details: [{ type, field: "", message }] });
