export const tenants = {
  title: "Tenants",
  lead: "Customers whose data stays apart. Applications act in a tenant, people are its members.",
  make: "New tenant",
  emptyTitle: "No tenant yet",
  emptyText: "A tenant is whose data stays apart: a shop, a customer.",
  organization: "Organization",
  plan: "Plan",
} as const;
