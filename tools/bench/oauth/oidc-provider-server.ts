import { randomBytes, webcrypto } from "node:crypto";
import { offer } from "../lib/offer.ts";

/** `oidc-provider` with its in-memory storage. */
const PACKAGE: string = "oidc-provider";
/** Silences the warning about in-memory storage. */
console.warn = () => {};
/** The package has no types. */
const { Provider }: { Provider: any } = await import(PACKAGE);

const EMAIL = "ada@bench.example";
const RESOURCE = "https://resource.bench.example";
const SCOPES = ["media_view", "media_manage", "media_admin", "pubsub_publish", "pubsub_consume"];
const LIFETIME_SEC = 3600;

await offer(async ({ host, port }) => {
  const { privateKey } = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  const clientId = "bench.client";
  const clientSecret = randomBytes(32).toString("base64url");
  const provider = new Provider(`http://${host}:${port}`, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ["client_credentials"],
        response_types: [],
        redirect_uris: [],
        id_token_signed_response_alg: "ES256",
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
    jwks: { keys: [{ ...(await webcrypto.subtle.exportKey("jwk", privateKey)), alg: "ES256", use: "sig", kid: "k1" }] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    scopes: ["openid", ...SCOPES],
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: { AccessToken: LIFETIME_SEC, ClientCredentials: LIFETIME_SEC, Grant: LIFETIME_SEC },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      userinfo: { enabled: true },
      // A token for a resource is a JWT; others are opaque and kept in memory.
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        getResourceServerInfo: () => ({
          scope: SCOPES.join(" "),
          accessTokenFormat: "jwt",
          accessTokenTTL: LIFETIME_SEC,
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  });
  provider.on("server_error", (_: unknown, error: Error) => console.error(error));

  /** Makes a user's token without a browser, as the authorization code flow would. */
  const userToken = async (): Promise<string> => {
    const client = await provider.Client.find(clientId);
    const grant = new provider.Grant({ accountId: EMAIL, clientId });
    grant.addOIDCScope("openid");
    const grantId = await grant.save();
    return new provider.AccessToken({ accountId: EMAIL, client, grantId, scope: "openid", gty: "" }).save();
  };
  provider.use(async (ctx: any, next: () => Promise<void>) => {
    if (ctx.path !== "/bench/user-token") return next();
    ctx.body = { access_token: await userToken() };
  });

  const server = provider.listen(port, host);
  await new Promise((resolve) => server.once("listening", resolve));
  const facts = { clientId, clientSecret, email: EMAIL, resource: RESOURCE, scope: SCOPES.join(" ") };
  return { facts, stop: async () => server.close() };
});
