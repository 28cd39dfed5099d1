/**
 * Scope patterns (contract 2.2, 3.3): a scope, or the beginning of scopes and `*`, which stands for every ending. `a.*`
 * covers `a.b`, `a.b*` and itself; a plain scope covers itself.
 *
 * In a scope of topics a name of the owner is matched whole: `…pubsub.topic=demo.shop*` is `…pubsub.topic=demo.shop.*`. It
 * would cover the topics of `demo.shopping` otherwise, who is somebody else.
 */
export function scopeMatches(pattern: string, scope: string): boolean {
  const [wide, narrow] = [alignOwnerPattern(pattern), alignOwnerPattern(scope)];
  return wide.endsWith("*") ? narrow.startsWith(wide.slice(0, -1)) : wide === narrow;
}

/** Whether some scope is covered by both: of two beginnings that share a scope one begins the other. */
export const scopesOverlap = (a: string, b: string): boolean => scopeMatches(a, b) || scopeMatches(b, a);

/** The pattern with its `*` at the boundary of a name, where it stands in the name of a topic's owner. */
export const alignOwnerPattern = (pattern: string): string => pattern.replace(CUT_OWNER, "$1.*");

/** An owner has two names, `<project>.<app>`: one of them, or both, and the `*` right behind. */
const CUT_OWNER = /(\.pubsub\.(?:own_tenant_)?topic=[a-z0-9-]+(?:\.[a-z0-9-]+)?)\*$/;
