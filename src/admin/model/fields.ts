import * as z from "zod/mini";
import { matching, text } from "../../http/input/validate.ts";
import { normalizeEmail } from "../../platform/text/email.ts";
import { PATTERNS } from "../../platform/model/names.ts";

/** Fields that several resources have, with their limits. */
export const tenantId = matching(PATTERNS.tenant);
/** Names organizations, roles, services, packages, clients and providers: safe in paths, logs and scopes. */
export const identifier = matching(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  "must be 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
);
/** The id of a registered client, or of one that nobody registered (`oauth/unregistered`). */
export const clientIdentifier = matching(
  /^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,63}|~[A-Za-z0-9_-]{20,60}|https?:\/\/[\x21-\x7e]{1,248})$/,
  "must be the id of a client: a name, or the address of a document",
);
/** The beginning of an id or a name. */
export const searchText = z.string().check(z.minLength(1), z.maxLength(100));
export const displayName = text(200);
export const oneLine = z.regex(/^[^\p{Cc}]*$/u, "must be one line of text");
export const scopePattern = matching(PATTERNS.scope);
export const scopeList = z.array(scopePattern).check(z.maxLength(500));
export const flag = z._default(z.boolean(), false);
/** Has no default, so a PUT about something else never takes a protection away. */
export const keptFlag = z.optional(z.boolean());
/** Likewise, such a PUT never enables what an operator disabled. */
export const disabledFlag = keptFlag;
/** Likewise, such a PUT never allows sign-ins with one factor. */
export const secondFactorFlag = keptFlag;
/** A PUT that leaves these out does not change them. */
export const KEPT_FIELDS: readonly string[] = [
  "disabled",
  "quota",
  "plan",
  "brand",
  "requireSecondFactor",
  "requirePkce",
  "filesPerUser",
  "thirdParty",
  "backchannelLogoutUri",
  "backchannelLogoutSessionRequired",
  "authMethod",
  "jwks",
  "jwksUri",
  "requirePushedAuthorizationRequests",
  "dpopBoundAccessTokens",
  "securityProfile",
  "tenants",
  "domains",
  "linking",
  "trustEmail",
  "button",
  "picture",
  "locale",
];
/** The value in a statement: null if the body leaves the field out. */
export const flagOrKept = (value: boolean | undefined): number | null => (value === undefined ? null : Number(value));

/** A language tag (BCP 47), stored in its canonical spelling, such as `de-CH`; empty: none. */
export const locale = z.pipe(
  z
    .string()
    .check(z.maxLength(35))
    .check(z.refine((tag) => canonicalLocale(tag) !== undefined, "must be a language tag, such as de or de-CH")),
  z.transform((tag) => canonicalLocale(tag) ?? tag),
);
function canonicalLocale(tag: string): string | undefined {
  try {
    return tag === "" ? "" : Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/** Accepts any spelling of an address and returns the spelling under which accounts are stored. */
export const email = z.pipe(
  z.string().check(z.refine((value) => normalizeEmail(value) !== undefined, "must be an e-mail address")),
  z.transform((value) => normalizeEmail(value) ?? value),
);
