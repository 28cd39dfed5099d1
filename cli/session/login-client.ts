/** The id of the public client by which people of a tenant sign in with the command line. */
export const loginClientOf = (tenant: string): string => `${tenant}.cli`;

/**
 * The record of that client: a native application, to which the browser returns at any port of this machine (RFC 8252),
 * or which shows a code for another device (RFC 8628). It lists every scope that a person can have, so that only the
 * person's roles decide. Scopes of operators are listed by name, since no pattern covers them.
 */
export const loginClient = (tenant: string, platform: string) => ({
  tenant,
  displayName: "Plinth command line",
  confidential: false,
  redirectUris: ["http://127.0.0.1/callback"],
  grantTypes: [
    "authorization_code" as const,
    "refresh_token" as const,
    "urn:ietf:params:oauth:grant-type:device_code" as const,
  ],
  requirePkce: true,
  // A PUT keeps these if they are left out.
  thirdParty: false,
  requirePushedAuthorizationRequests: false,
  dpopBoundAccessTokens: false,
  securityProfile: "none" as const,
  scopes: ["*", ...["admin_read", "admin_write", "admin_tenant"].map((name) => `${platform}.${name}`)],
});
