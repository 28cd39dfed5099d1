import { call, expectJson } from "./call.ts";

export const basic = (client: { clientId: string; clientSecret: string }): string =>
  `Basic ${btoa(`${encodeURIComponent(client.clientId)}:${encodeURIComponent(client.clientSecret)}`)}`;

/** Gets a token by client credentials. `scope` is sent as it is. */
export async function tokenFor(client: { clientId: string; clientSecret: string }, scope?: string): Promise<string> {
  const form: Record<string, string> = { grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) };
  const response = await call("/oauth2/v1/token", { form, headers: { authorization: basic(client) } });
  return (await expectJson<{ access_token: string }>(response, 200)).access_token;
}
