import * as z from "zod/mini";
import { normalizeEmail } from "../platform/email.ts";
import { PATTERNS } from "../platform/names.ts";
import { matching, text } from "../http/validate.ts";

/** Fields that several resources have, with their limits. */
export const tenantId = matching(PATTERNS.tenant);
/** Of organizations, roles, services, packages and clients. The contract has no pattern for them (decision 42). */
export const identifier = matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
export const displayName = text(200);
export const scopePattern = matching(PATTERNS.scope);
export const scopeList = z.array(scopePattern).check(z.maxLength(500));
export const flag = z._default(z.boolean(), false);
/** Left out, what is there stays (contract section 8): what an operator shut is never opened by who did not say so. */
export const disabledFlag = z.optional(z.boolean());
/** The fields that a PUT leaves as they are where it does not name them. */
export const KEPT_FIELDS: readonly string[] = ["disabled", "quota", "plan", "tenants", "domains", "linking"];
/** As a statement is given it: null where the body does not say. */
export const flagOrKept = (value: boolean | undefined): number | null => (value === undefined ? null : Number(value));

/** Any spelling of an address, as the one that accounts are known by. */
export const email = z.pipe(
  z.string().check(z.refine((value) => normalizeEmail(value) !== undefined, "must be an e-mail address")),
  z.transform((value) => normalizeEmail(value) ?? value),
);
