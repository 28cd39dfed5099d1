/** The client and the tenant of tokens that tests make themselves. */
export const OF_ACME = {
  clientId: "acme.app",
  clientName: "acme.app",
  clientAuthenticated: true,
  tenant: "acme",
  tenantExplicit: false,
  org: "",
  plan: "standard",
} as const;
