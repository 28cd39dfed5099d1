import { expect } from "vitest";
import type { Platform } from "./process/platform.ts";
import { localSecret } from "./process/state.ts";

/** What a test asks of a started platform as the client of its demo. */
export async function demoToken(
  { url }: Pick<Platform, "url">,
  form: Record<string, string> = { grant_type: "client_credentials" },
): Promise<string> {
  const response = await fetch(`${url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`demo.shop:${localSecret("DEMO_CLIENT_SECRET")}`)}` },
    body: new URLSearchParams(form),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { access_token: string }).access_token;
}

/** `address`: a path, or a link that the platform gave. */
export async function post(
  { url }: Pick<Platform, "url">,
  address: string,
  token: string,
  body: unknown,
): Promise<{ status: number; body: any }> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(new URL(address, url), { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}
