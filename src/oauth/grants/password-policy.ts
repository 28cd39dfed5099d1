/**
 * Who may get tokens by the password grant (RFC 9700 2.4 advises against it): nobody, clients that list it, or also whoever
 * passes no client, as the specification has it. The deployment says so.
 */
export type PasswordGrant = "nobody" | "clients" | "everybody";

/** Why it is refused, for the operator; undefined: it is not. */
export function passwordGrantFault(policy: PasswordGrant, passesClient: boolean): string | undefined {
  if (policy === "nobody") return "the deployment has PASSWORD_GRANT=false";
  return policy === "everybody" || passesClient
    ? undefined
    : "without a client, the password grant needs PASSWORD_GRANT_WITHOUT_CLIENT=true";
}
