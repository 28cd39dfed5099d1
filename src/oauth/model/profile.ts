/** Claims of the scope `profile`. */
export interface Profile {
  readonly name: string;
  /** An https address; empty: none. */
  readonly picture: string;
  /** A language tag (BCP 47); empty: none. */
  readonly locale: string;
}

/** Empty ones are left out (OIDC Core 5.3.2). */
export const profileClaims = (profile: Profile | undefined): object => ({
  ...(profile?.name ? { name: profile.name } : {}),
  ...(profile?.picture ? { picture: profile.picture } : {}),
  ...(profile?.locale ? { locale: profile.locale } : {}),
});
