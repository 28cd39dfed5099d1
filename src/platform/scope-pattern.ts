/**
 * Scope patterns (contract 2.2, 3.3): a scope, or the beginning of scopes and `*`, which stands for every ending. `a.*`
 * covers `a.b`, `a.b*` and itself; a plain scope covers itself.
 */
export function covers(pattern: string, scope: string): boolean {
  return pattern.endsWith("*") ? scope.startsWith(pattern.slice(0, -1)) : pattern === scope;
}

/** Whether some scope is covered by both: of two beginnings that share a scope one begins the other. */
export const meet = (a: string, b: string): boolean => covers(a, b) || covers(b, a);
