import type { Client } from "../../../../api/plinth.ts";

/** Kinds that the wizard offers: each is a set of grant types, with or without a secret. */
export type Kind = "browser" | "server" | "machine";
export const KINDS: readonly Kind[] = ["browser", "server", "machine"];

export const SETTINGS = {
  browser: { confidential: false, grantTypes: ["authorization_code", "refresh_token"] },
  server: { confidential: true, grantTypes: ["authorization_code", "refresh_token"] },
  machine: { confidential: true, grantTypes: ["client_credentials"] },
} as const;

type GrantTypes = readonly Client["grantTypes"][number][];

/** True if the application gets tokens of people, at a page or by a device. */
export const hasPeople = (grantTypes: GrantTypes): boolean =>
  grantTypes.some(
    (type) => type !== "client_credentials" && type !== "urn:ietf:params:oauth:grant-type:token-exchange",
  );

/** True if a sign-in returns to an address of the application. */
export const isReturnedTo = (grantTypes: GrantTypes): boolean =>
  grantTypes.some((type) => type === "authorization_code" || type === "implicit");

export function kindOf({ confidential, grantTypes }: Pick<Client, "confidential" | "grantTypes">): Kind {
  if (!confidential) return "browser";
  return hasPeople(grantTypes) ? "server" : "machine";
}

/**
 * The body that writes an application back, with all fields that would get their default if they were left out. The
 * others stay in the service as they are: another operator may have changed them after this page read them, and a form
 * must not enable an application, or take a protection away, that it does not show.
 */
export function bodyOf(client: Client) {
  const { tenant, name, displayName, logoUri, confidential, service } = client;
  const { redirectUris, postLogoutRedirectUris, grantTypes, scopes } = client;
  const lists = { redirectUris, postLogoutRedirectUris, grantTypes, scopes };
  return { tenant, name, displayName, logoUri, confidential, ...lists, ...(service !== undefined && { service }) };
}

interface Known {
  readonly url: string;
  readonly platform: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
}

/** Code that works with the application as it is. The secret is read from the environment. */
export const codeFor: Readonly<Record<Kind, (known: Known) => string>> = {
  browser: ({ url, clientId, redirectUri, scopes }) => `// npm install oidc-client-ts @plinth/sdk
import { UserManager } from "oidc-client-ts";
import { createPlinth } from "@plinth/sdk";

const users = new UserManager({
  authority: "${url}/oauth2/v1",
  client_id: "${clientId}",
  redirect_uri: "${redirectUri}",
  scope: "${["openid", ...scopes].join(" ")}",
});

// On the page behind the redirect address:
if (location.search.includes("code=")) await users.signinCallback();

const user = await users.getUser();
if (user === null) await users.signinRedirect();

export const plinth = createPlinth({
  url: "${url}",
  credentials: async () => (await users.getUser())!.access_token,
});
`,
  server: ({ url, clientId, redirectUri, scopes }) => `// npm install openid-client
import * as oidc from "openid-client";

const config = await oidc.discovery(
  new URL("${url}/oauth2/v1"),
  "${clientId}",
  process.env.CLIENT_SECRET,${url.startsWith("http:") ? "\n  undefined,\n  { execute: [oidc.allowInsecureRequests] }," : ""}
);

// 1. Send the person to the sign-in page. Keep the verifier in the person's session.
const verifier = oidc.randomPKCECodeVerifier();
const signIn = oidc.buildAuthorizationUrl(config, {
  redirect_uri: "${redirectUri}",
  scope: "${["openid", ...scopes].join(" ")}",
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: "S256",
});

// 2. Behind the redirect address:
const tokens = await oidc.authorizationCodeGrant(config, currentUrl, { pkceCodeVerifier: verifier });
console.log(tokens.claims());
`,
  machine: ({ url, clientId }) => `// npm install @plinth/sdk
import { createPlinth } from "@plinth/sdk";

const plinth = createPlinth({
  url: "${url}",
  credentials: { clientId: "${clientId}", clientSecret: process.env.CLIENT_SECRET },
});

console.log(await plinth.token());
for await (const topic of plinth.topics()) console.log(topic);
`,
};
