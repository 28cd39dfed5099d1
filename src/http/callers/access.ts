/** The access token that an operation needs. An operation without a scope says why. */
export type Access =
  /**
   * A token with this scope or one of the others, written without the platform's prefix. If one of the others ends in
   * `*`, it admits all scopes that it covers, and the operation checks them further. A refusal names the first of
   * `people` to a person, if there is one.
   */
  | {
      readonly kind: "scope";
      readonly scope: string;
      readonly others: readonly string[];
      readonly people: readonly string[];
    }
  /** Any valid token; the operation decides by the resource and these scopes. */
  | { readonly kind: "token"; readonly why: string; readonly scopes: readonly string[] }
  /** No token. The operation may authenticate a client or check a signed link itself. */
  | { readonly kind: "public"; readonly why: string };

export const scoped = (scope: string, ...others: readonly string[]) =>
  ({ kind: "scope", scope, others, people: [] }) as const;
/** The operator client, and people with one of these scopes. */
export const operated = (...people: readonly string[]) =>
  ({ kind: "scope", scope: "admin", others: [], people }) as const;
export const anyToken = (why: string, ...scopes: readonly string[]) => ({ kind: "token", why, scopes }) as const;
export const open = (why: string) => ({ kind: "public", why }) as const;
