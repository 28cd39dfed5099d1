import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from "jose";
import { call, ORIGIN, type CallInit } from "../platform/call.ts";
import { unique } from "../platform/unique.ts";

/** The holder of a key, who proves it with each request (RFC 9449) and keeps the platform's latest nonce. */
export interface Prover {
  readonly thumbprint: string;
  readonly jwk: JWK;
  /** Makes a proof as a careful client does. `more` changes claims or headers, or removes them by `undefined`. */
  proofFor(method: string, path: string, more?: ProofChanges): Promise<string>;
  /** Sends the request with a proof, and again if the platform wants a nonce. `token` is sent as DPoP. */
  send(path: string, init?: CallInit & ProofChanges): Promise<Response>;
  nonce: string | undefined;
}

interface ProofChanges {
  readonly claims?: JWTPayload;
  readonly header?: Record<string, unknown>;
  readonly token?: string;
}

export async function makeProver(alg = "ES256"): Promise<Prover> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const prover: Prover = {
    thumbprint: await calculateJwkThumbprint(jwk),
    jwk,
    nonce: undefined,
    async proofFor(method, path, { claims, header, token } = {}) {
      const payload = {
        jti: unique("jti"),
        htm: method,
        htu: new URL(path, ORIGIN).href.replace(/[?#].*$/, ""),
        iat: Math.floor(Date.now() / 1000),
        nonce: prover.nonce,
        ...(token === undefined ? {} : { ath: await hashOf(token) }),
        ...claims,
      };
      return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
        .setProtectedHeader({ alg, typ: "dpop+jwt", jwk, ...header })
        .sign(privateKey);
    },
    async send(path, { claims, header, token, ...init } = {}) {
      const method = init.method ?? (init.form === undefined && init.json === undefined ? "GET" : "POST");
      const changes = { ...(claims && { claims }), ...(header && { header }), ...(token && { token }) };
      const ask = async () => {
        const headers = {
          ...init.headers,
          dpop: await prover.proofFor(method, path, changes),
          ...(token === undefined ? {} : { authorization: `DPoP ${token}` }),
        };
        const response = await call(path, { ...init, method, headers });
        prover.nonce = response.headers.get("dpop-nonce") ?? prover.nonce;
        return response;
      };
      const response = await ask();
      const wantsNonce = response.status >= 400 && response.headers.has("dpop-nonce");
      return wantsNonce && claims?.["nonce"] === undefined ? ask() : response;
    },
  };
  return prover;
}

export async function hashOf(token: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
