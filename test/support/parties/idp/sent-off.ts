import { CALLBACK, type Application } from "./application.ts";
import type { Provider } from "./scripted-provider.ts";
import { Browser } from "./browser.ts";
import { linkAccount } from "./accounts.ts";

/** A sign-in that is under way: the address at the provider to which the browser was sent, and its parameters. */
export interface SentOff {
  readonly browser: Browser;
  readonly address: URL;
  readonly state: string;
  readonly nonce: string;
}

export const authorizeAddress = (app: Application, provider: Provider, more: Record<string, string> = {}): string =>
  `/oauth2/v1/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: app.clientId,
    redirect_uri: CALLBACK,
    state: "the client's own state",
    scope: "openid",
    plat_id_provider: provider.id,
    ...more,
  }).toString()}`;

/** Begins a sign-in of a user whose account at the provider is linked. */
export async function sendOff(...given: Parameters<typeof sendOffUnlinked>): Promise<SentOff> {
  const [app, provider] = given;
  await linkAccount(app, provider);
  return sendOffUnlinked(...given);
}

/** Begins a sign-in of a user whose account at the provider is not linked. */
export async function sendOffUnlinked(
  app: Application,
  provider: Provider,
  browser: Browser = new Browser(),
  more: Record<string, string> = {},
): Promise<SentOff> {
  const response = await browser.get(authorizeAddress(app, provider, more));
  const location = response.headers.get("location") ?? "";
  if (response.status !== 302 || !location.startsWith(provider.issuer))
    throw new Error(`not sent to ${provider.issuer}: ${response.status} ${location} ${await response.text()}`);
  const address = new URL(location);
  const [state = "", nonce = ""] = ["state", "nonce"].map((name) => address.searchParams.get(name) ?? "");
  return { browser, address, state, nonce };
}
