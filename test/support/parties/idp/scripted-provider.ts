import { exportJWK, generateKeyPair } from "jose";
import { answerJson, requestsTo } from "../../outside.ts";
import type { OutsideRequest } from "../../runtime/outside-world.ts";
import { put } from "../../platform/operator.ts";
import { unique } from "../../platform/unique.ts";

/**
 * An identity provider whose every word a test can bend: it lives in the world outside that the tests play, says what
 * discovery, keys, token endpoint and userinfo answer, and is registered with the platform under an id of its own.
 */
export const CLIENT_SECRET = "secret of the platform: +&=% \u007e";

export const CLIENT_ID = "platform id:1";

export interface Signer {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: object;
}

export async function makeSigner(alg = "ES256", kid = unique("k")): Promise<Signer> {
  const pair = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey: pair.privateKey, publicJwk: { ...(await exportJWK(pair.publicKey)), kid, alg } };
}

export interface Provider {
  readonly id: string;
  readonly issuer: string;
  readonly signer: Signer;
  /** What discovery says unless a test says otherwise. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

export const at = (provider: Provider, path: string): string => `${provider.issuer}/${path}`;

export async function makeProvider(
  options: {
    metadata?: Record<string, unknown>;
    signer?: Signer;
    id?: string;
    /** Fields of its registration. */
    scopes?: string[];
    tenants?: string[];
    domains?: string[];
    linking?: string;
    trustEmail?: boolean;
    button?: string;
  } = {},
): Promise<Provider> {
  const id = options.id ?? unique("idp");
  const issuer = `https://${unique("idp")}.test`;
  const { signer = await makeSigner(), metadata: _metadata, id: _id, ...registered } = options;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize?tenant=a`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    ...options.metadata,
  };
  const provider = { id, issuer, signer, metadata };
  await answerJson(at(provider, ".well-known/openid-configuration"), metadata);
  await answerJson(at(provider, "jwks"), { keys: [signer.publicJwk] });
  const registration = { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
  await put(`identity-providers/${id}`, { ...registration, ...registered });
  return provider;
}

/** Another registration of it, where only these fields differ. */
export const bindProvider = ({ id, issuer }: Provider, fields: object): Promise<unknown> =>
  put(`identity-providers/${id}`, { issuer, clientId: CLIENT_ID, clientSecret: "********", ...fields });

export const tokenRequests = (provider: Provider): Promise<OutsideRequest[]> => requestsTo(at(provider, "token"));
