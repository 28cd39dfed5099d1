import { randomBytes, webcrypto } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { freePort } from "../process/state.ts";

/** The package has no types. */
const PACKAGE: string = "oidc-provider";

export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** With new keys, as an operator of it might change them. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * `oidc-provider` on a loopback port, with the login form that it brings itself: whoever signs in as `ada@x.example`
 * has that address. The platform is its only client.
 */
export async function makeOidcProvider(options: {
  readonly redirectUri: string;
  /** `userinfo` is its own way; many others put the address into the ID token. */
  readonly emailIn: "userinfo" | "id_token";
  readonly verified?: boolean;
}): Promise<OidcProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const clientId = "the platform";
  const clientSecret = randomBytes(32).toString("base64url");
  const cookieKeys = [randomBytes(32).toString("base64url")];
  let server: Server | undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    async start() {
      const { Provider } = (await import(PACKAGE)) as { Provider: any };
      const { privateKey } = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
      // What the private key is for would be published with the public one.
      const { key_ops: _, ...key } = await webcrypto.subtle.exportKey("jwk", privateKey);
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: clientId,
            client_secret: clientSecret,
            redirect_uris: [options.redirectUri],
            id_token_signed_response_alg: "ES256",
          },
        ],
        jwks: { keys: [{ ...key, alg: "ES256", use: "sig", kid: randomBytes(8).toString("hex") }] },
        cookies: { keys: cookieKeys },
        claims: { openid: ["sub"], email: ["email", "email_verified"] },
        conformIdTokenClaims: options.emailIn === "userinfo",
        findAccount: (_context: unknown, id: string) => ({
          accountId: id,
          claims: () => ({ sub: id, email: id, email_verified: options.verified ?? true }),
        }),
      });
      server = createServer(provider.callback() as () => void).listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    async stop() {
      server?.close();
      server?.closeAllConnections();
      if (server !== undefined) await once(server, "close");
      server = undefined;
    },
  };
}
