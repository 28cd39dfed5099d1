import type { Finding, ModuleOutcome } from "./suite.ts";

/** A warning, by the suite's name of the condition, and why it is right to stay. docs/conformance.md shows them. */
export const WARNINGS: Readonly<Record<string, string>> = {
  EnsureIdTokenDoesNotContainNonRequestedClaims:
    "ID tokens name the tenant and the address, and carry what a hint depends on (`gid`, `scope`, `asof`, `user_asof`, `auth_ms`). RFC 7519 4.3 allows private claims.",
  CheckForUnexpectedClaimsInIdToken: "The same claims.",
  EnsureIdTokenDoesNotContainEmailForScopeEmail:
    "ID tokens have `email` always, as they had before there was a scope for it.",
  EnsureIdTokenDoesNotContainName: "The scope `profile` puts `name` into the ID token too.",
  VerifyScopesReturnedInUserInfoClaims:
    "The platform knows a person's name and address, and none of the other claims of these scopes. `email_verified` is true or absent.",
  VerifyScopesReturnedInAuthorizationEndpointIdToken: "The same, for an ID token alone.",
  EnsureIdentityClaimsContainRequestedClaims:
    "`email_verified` is true or absent: this user never used a link in a mail.",
  UserInfoEndpointWithAccessTokenInBodyNotSupported: "A token in a body is never taken. RFC 6750 2.2 leaves that open.",
};

/** A module that the suite skips, by the words of its name, and why. */
const SKIPS: readonly (readonly [name: RegExp, why: string])[] = [
  [/scope-(address|phone|all)$/, "The platform has no scopes `address` and `phone`."],
  [/unsigned-request-object|request-uri-unsigned/, "Request objects are refused with `request_not_supported`."],
  [/idtoken-unsigned$/, "ID tokens are always signed."],
  [
    /signed-client-assertion-with-RS256/,
    "The keys of these clients are for ES256, so no assertion by RS256 can be made.",
  ],
];

export interface Explained extends ModuleOutcome {
  /** Warnings and failures that nothing here explains. */
  readonly unexplained: readonly Finding[];
  /** For people: why it is not simply passed. */
  readonly why: readonly string[];
}

export function explain(outcome: ModuleOutcome): Explained {
  const { module, result, findings } = outcome;
  const skip = SKIPS.find(([name]) => name.test(module));
  const isExplained = (finding: Finding): boolean =>
    finding.result === "REVIEW" || (finding.result === "WARNING" && Object.hasOwn(WARNINGS, finding.condition));
  const unexplained = result === "SKIPPED" ? [] : findings.filter((finding) => !isExplained(finding));
  const conditions = new Set(findings.filter((one) => one.result === "WARNING").map(({ condition }) => condition));
  const why = result === "SKIPPED" ? [skip?.[1]] : [...conditions].map((condition) => WARNINGS[condition]);
  const nothing: Finding = { result: "WARNING", condition: "skipped", message: "Nothing explains why." };
  return {
    ...outcome,
    unexplained: result === "SKIPPED" && skip === undefined ? [nothing] : unexplained,
    why: why.filter((text) => text !== undefined),
  };
}
