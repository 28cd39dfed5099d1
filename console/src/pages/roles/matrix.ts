import type { Role, Service } from "../../../../api/plinth.ts";

/** All scopes of the matrix: those of services, and others that roles name. */
export function scopesOf(roles: readonly Role[], services: readonly Service[]): readonly string[] {
  const all = new Set([...services, ...roles].flatMap(({ scopes }) => scopes));
  return [...all].toSorted((one, other) => one.localeCompare(other));
}

/** How a role has a scope. No pattern covers the scopes of operators. */
export function holds({ scopes }: Role, scope: string, platform: string): "exact" | "pattern" | undefined {
  if (scopes.includes(scope)) return "exact";
  if (scope.startsWith(`${platform}.admin`)) return undefined;
  const covers = (pattern: string) => pattern.endsWith("*") && scope.startsWith(pattern.slice(0, -1));
  return scopes.some(covers) ? "pattern" : undefined;
}
