/**
 * True if a scope pattern covers a scope or pattern. A pattern is a scope, or a prefix with `*`: `a.*` covers `a.b`,
 * `a.b*` and itself; a plain scope covers only itself.
 *
 * In a scope of topics the owner's name is matched whole: `…pubsub.topic=demo.shop*` means `…pubsub.topic=demo.shop.*`.
 * Otherwise it would cover the topics of `demo.shopping`, which is another client.
 */
export function scopeMatches(pattern: string, scope: string): boolean {
  if (!pattern.endsWith("*")) return pattern === scope;
  return alignOwnerPattern(scope).startsWith(alignOwnerPattern(pattern).slice(0, -1));
}

/** True if a pattern of the list covers the scope. A scope in `exact` is covered only by itself. */
export const covers = (patterns: readonly string[], scope: string, exact: readonly string[]): boolean =>
  exact.includes(scope) ? patterns.includes(scope) : patterns.some((pattern) => scopeMatches(pattern, scope));

/** True if some scope is covered by both patterns: then one pattern covers the other. */
export const scopesOverlap = (a: string, b: string): boolean => scopeMatches(a, b) || scopeMatches(b, a);

/** Moves a `*` within the name of a topic's owner to the end of that name. */
export const alignOwnerPattern = (pattern: string): string =>
  pattern.endsWith("*") ? pattern.replace(CUT_OWNER, "$1.*") : pattern;

/** An owner is `<project>.<app>`. Matches one or both of the names with a `*` directly after them. */
const CUT_OWNER = /(\.pubsub\.(?:own_tenant_)?topic=[a-z0-9-]+(?:\.[a-z0-9-]+)?)\*$/;
