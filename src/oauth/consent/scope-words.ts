import type { Names } from "../../platform/model/names.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import type { ScopeView } from "../pages/views/consent.ts";

/** Descriptions by scope, as services registered them. A scope that ends in `*` covers every ending. */
export type ScopeWords = ReadonlyMap<string, string>;

/** The scope as pages show it. An exact name is preferred to a pattern, and a longer pattern to a shorter one. */
export function toScopeView(scope: string, words: ScopeWords, names: Names): ScopeView {
  const own = names.scope("");
  const [pattern] = [...words.keys()]
    .filter((key) => scopeMatches(key, scope))
    .sort((a, b) => Number(b === scope) - Number(a === scope) || b.length - a.length);
  return {
    scope,
    own: scope.startsWith(own) ? scope.slice(own.length) : undefined,
    words: pattern === undefined ? undefined : words.get(pattern),
  };
}

/** The first of two services that describe the same scope is used. */
export const toScopeWords = (rows: readonly { readonly scope: string; readonly words: string }[]): ScopeWords =>
  new Map(rows.map(({ scope, words }) => [scope, words] as const).toReversed());
