/** What the scope `profile` tells of a user. */
export interface Profile {
  readonly name: string;
  /** An https address; empty: none. */
  readonly picture: string;
  /** A language tag (BCP 47); empty: none. */
  readonly locale: string;
}

/** What is empty is left out (OIDC Core 5.3.2). */
export const profileClaims = (profile: Profile | undefined): object => ({
  ...(profile?.name ? { name: profile.name } : {}),
  ...(profile?.picture ? { picture: profile.picture } : {}),
  ...(profile?.locale ? { locale: profile.locale } : {}),
});
