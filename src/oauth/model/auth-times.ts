/** When a user signed in, in ms, and by whose word. */
export interface SignInTimes {
  /** Here: the session's twelve hours are counted from it, and sign-outs are compared with it. */
  readonly authenticatedAtMs: number;
  /** When the identity provider that vouched had asked the user; undefined: it did not say, or the user was asked here. */
  readonly provenAtMs?: number | undefined;
  /** The identity provider that vouched; undefined: the platform's own directory asked. */
  readonly provider?: string | undefined;
}

/** These of something that has more. */
export const signInTimes = ({ authenticatedAtMs, provenAtMs, provider }: SignInTimes): SignInTimes => ({
  authenticatedAtMs,
  provenAtMs,
  ...(provider === undefined ? {} : { provider }),
});

/** What `auth_time` and `max_age` mean (OIDC Core 2, 3.1.2.1): a provider's session may be much older than ours. */
export const authTimeMs = ({ authenticatedAtMs, provenAtMs }: SignInTimes): number => provenAtMs ?? authenticatedAtMs;
