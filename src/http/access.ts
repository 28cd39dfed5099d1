/** What a token has to carry to call an operation. One that needs no scope says why. */
export type Access =
  /**
   * A token with this scope, or one of the others that do as well; written without the platform's prefix. Of scopes that
   * another one's `*` stands for, the operation says which will do.
   */
  | { readonly kind: "scope"; readonly scope: string; readonly others: readonly string[] }
  /** Any valid token; the operation decides by the resource, and by the scopes that are named here. */
  | { readonly kind: "token"; readonly why: string; readonly scopes: readonly string[] }
  /** No token. The operation may authenticate a client or a signed link itself. */
  | { readonly kind: "public"; readonly why: string };

export const scoped = (scope: string, ...others: readonly string[]) => ({ kind: "scope", scope, others }) as const;
export const anyToken = (why: string, ...scopes: readonly string[]) => ({ kind: "token", why, scopes }) as const;
export const open = (why: string) => ({ kind: "public", why }) as const;
