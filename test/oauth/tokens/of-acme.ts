/** The client and the tenant of a token that nobody issued. */
export const OF_ACME = {
  clientId: "acme.app",
  clientName: "acme.app",
  clientAuthenticated: true,
  tenant: "acme",
  tenantExplicit: false,
  org: "",
  plan: "standard",
} as const;
