import { loginClient, loginClientOf } from "../../../cli/session/login-client.ts";

/**
 * The records by which people operate a platform: an organization with a tenant for the clients of console and command
 * line, and two roles. `npm start` makes them for its demo operator, `npm run deploy` for the first operator.
 */
export const OPERATORS = {
  organization: "operators",
  tenant: "operators",
  /** See and run the whole platform. */
  role: "operator",
  /** Run the tenants of one organization. */
  organizationRole: "organization-admin",
  client: "console",
} as const;

/** Writes a resource of the operator service: `put("roles/x", {…})`. */
export type Put = (path: string, body: unknown) => Promise<void>;

export interface ConsolePlace {
  readonly platform: string;
  /** Addresses of the console: `https://plinth.example.com/console`. Any port of a loopback host will do. */
  readonly consoles: readonly string[];
  /** Addresses to return to after a sign-out. Here the port must match. */
  readonly exits: readonly string[];
}

export async function putOperators(put: Put, { platform, consoles, exits }: ConsolePlace): Promise<void> {
  const scope = (name: string): string => `${platform}.${name}`;
  await put(`organizations/${OPERATORS.organization}`, { name: "Operators" });
  await put(`tenants/${OPERATORS.tenant}`, { organization: OPERATORS.organization, name: "Operators" });
  await put(`roles/${OPERATORS.role}`, { scopes: [scope("admin_read"), scope("admin_write")] });
  await put(`roles/${OPERATORS.organizationRole}`, { scopes: [scope("admin_tenant")] });
  await put(`clients/${OPERATORS.client}`, {
    tenant: OPERATORS.tenant,
    name: `${OPERATORS.tenant}.console`,
    displayName: "Plinth console",
    confidential: false,
    grantTypes: ["authorization_code", "refresh_token"],
    redirectUris: consoles.map((address) => `${address}/callback`),
    postLogoutRedirectUris: exits.map((address) => `${address}/sign-in`),
    scopes: [scope("admin_read"), scope("admin_write"), scope("admin_tenant")],
  });
  await put(`clients/${loginClientOf(OPERATORS.tenant)}`, loginClient(OPERATORS.tenant, platform));
}

/** Makes a user an operator, and a member of the console's tenant, so that no consent to the console is asked. */
export async function putOperator(put: Put, email: string): Promise<void> {
  await put(`tenants/${OPERATORS.tenant}/members/${email}`, { roles: [] });
  await put(`organizations/${OPERATORS.organization}/members/${email}`, { roles: [OPERATORS.role] });
}
