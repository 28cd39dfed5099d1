import { put } from "../../platform/operator.ts";
import { makeTenant } from "../../platform/tenants.ts";
import { unique } from "../../platform/unique.ts";

export const CALLBACK = "https://app.test/cb";

/** A client of the platform, and a user who may sign in to it. */
export interface Application {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly email: string;
}

export async function makeApplication(): Promise<Application> {
  const tenant = await makeTenant();
  const email = `${unique("ada")}@example.org`;
  await put(`users/${email}`, { name: "Ada" });
  await put(`tenants/${tenant}/members/${email}`, { roles: [] });
  const clientId = `${tenant}.${unique("app")}`;
  const clientSecret = "c".repeat(43);
  const grantTypes = ["authorization_code", "implicit", "refresh_token"];
  const client = { tenant, confidential: true, clientSecret, redirectUris: [CALLBACK], grantTypes, scopes: [] };
  await put(`clients/${clientId}`, client);
  return { clientId, clientSecret, email };
}

/** Returns the parameters of the redirect to the client. */
export function toClient(response: Response): Record<string, string> {
  const location = response.headers.get("location") ?? "";
  if (response.status !== 302 || !location.startsWith(CALLBACK)) throw new Error(`${response.status} ${location}`);
  return Object.fromEntries(new URL(location).searchParams);
}
