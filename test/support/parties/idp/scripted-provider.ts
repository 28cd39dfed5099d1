import { exportJWK, generateKeyPair } from "jose";
import { answerJson, requestsTo } from "../../outside.ts";
import type { OutsideRequest } from "../../runtime/outside-world.ts";
import { put } from "../../platform/operator.ts";
import { unique } from "../../platform/unique.ts";

/**
 * An identity provider whose answers a test can change. It is a part of the world outside (outside-world.ts), sets the
 * answers of discovery, keys, token endpoint and userinfo, and is registered with the platform under its own id.
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
  /** The answer of discovery unless a test changes it. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

export const at = (provider: Provider, path: string): string => `${provider.issuer}/${path}`;

export async function makeProvider(
  options: {
    metadata?: Record<string, unknown>;
    signer?: Signer;
    id?: string;
    /** The fields of its registration. */
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

/** Changes these fields of the registration. */
export const bindProvider = ({ id, issuer }: Provider, fields: object): Promise<unknown> =>
  put(`identity-providers/${id}`, { issuer, clientId: CLIENT_ID, clientSecret: "********", ...fields });

export const tokenRequests = (provider: Provider): Promise<OutsideRequest[]> => requestsTo(at(provider, "token"));
