import type { Principal } from "../../http/auth.ts";
import { sha256 } from "../../platform/hash.ts";
import { toBase64Url } from "../../platform/encoding.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { Ended, PublicJwk, Revocation, SigningKeyRow, TrustStore } from "../store/trust-store.ts";

/**
 * This isolate's copy of the signing keys and of the revocations (contract 2.1).
 *
 *   empty ──refresh──▶ fresh ──5 s──▶ old ──refresh──▶ fresh
 *                                      └── D1 does not answer: used until 60 s old, then unavailable
 *
 * A refresh asks D1 for every key and for the revocations that came since, in one statement. Nothing is shared
 * between requests but values, so parallel refreshes do the same work and none waits for another's promise; an answer
 * that lands late undoes nothing that a later one brought, since rows carry a number and refreshes are counted.
 */
export interface Trust {
  /**
   * Brings the copy up to date unless it is fresh: at most 5 s old, or 0 ("now": asked of D1 in any case).
   * False: D1 does not answer and there is no copy that may be trusted.
   */
  ensure(nowMs: number, freshness: "recent" | "now"): Promise<boolean>;
  /** The key that verifies; one that is not known is looked for in D1, at most once a second. */
  verifyKey(kid: string, alg: SigningAlg, nowMs: number): Promise<CryptoKey | undefined>;
  isRevoked(token: IssuedToken): boolean;
  /** The key that signs now; made at the platform's first token of its kind. */
  signingKey(nowMs: number, alg: SigningAlg): Promise<{ readonly kid: string; readonly key: CryptoKey }>;
  /** True when the copy should be brought up to date beside a request that does not wait for it. */
  wantsRefresh(nowMs: number): boolean;
  /** The public keys, newest first. */
  publicKeys(): readonly PublicJwk[];
  /** Something was revoked by another statement: the next check asks D1. */
  changedBeside(): void;
  /** Ends tokens, grants or sessions everywhere, and in this isolate at once; with what is written in the same transaction. */
  end(ended: readonly Ended[], beside: readonly D1PreparedStatement[]): Promise<void>;
}

/** What a token says that revocations are about. */
export interface IssuedToken extends Principal {
  /** When the records that decided about it were read, by the database's clock. */
  readonly recordsAsOfMs: number;
}

/** Contract 2.1; the ages for signing and the wait are ours. */
const TRUST_AGE = {
  maxMs: 5_000,
  withoutD1Ms: 60_000,
  unknownKeyMs: 1_000,
  wantedMs: 60_000,
  forSigningMs: 600_000,
} as const;
/** D1 that hangs is D1 that does not answer. */
const D1_WAIT_MS = 5_000;
export const ACCESS_TOKEN_ALG = "ES256";
export const ID_TOKEN_ALG = "RS256";
export type SigningAlg = typeof ACCESS_TOKEN_ALG | typeof ID_TOKEN_ALG;

/** How WebCrypto names what signs, and the members of a public key that name it (RFC 7638). */
const ALGORITHMS = {
  ES256: {
    webCrypto: { name: "ECDSA", namedCurve: "P-256" },
    make: { name: "ECDSA", namedCurve: "P-256" },
    members: ["crv", "kty", "x", "y"],
  },
  RS256: {
    webCrypto: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    make: {
      name: "RSASSA-PKCS1-v1_5",
      hash: "SHA-256",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
    members: ["e", "kty", "n"],
  },
} as const;

interface Key extends SigningKeyRow {
  /** Absent where this version does not know the algorithm: the key is published and nothing else here. */
  readonly verify: CryptoKey | undefined;
  sign?: CryptoKey;
}

export function createTrust(store: TrustStore, sealer: Sealer, onFault: (thrown: unknown) => void): Trust {
  const keys = new Map<string, Key>();
  const revoked = new Map<string, Revocation>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let lastSeq = 0;
  let refreshesBegun = 0;
  let lastLanded = 0;
  /** Counts changes made beside this copy; a refresh settles those that came before it began. */
  let changes = 0;
  let settledChanges = 0;

  /** A clock that was set back makes the copy old, not fresh for as long as it was set back. */
  const isWithin = (ageMs: number, nowMs: number): boolean => Math.abs(nowMs - loadedAtMs) <= ageMs;

  async function refresh(nowMs: number): Promise<void> {
    const number = ++refreshesBegun;
    const changesSeen = changes;
    const news = await within(D1_WAIT_MS, store.news(lastSeq, nowMs));
    for (const row of news.keys)
      if (!keys.has(row.kid)) keys.set(row.kid, { ...row, verify: await importVerifyKey(row) });
    news.revocations.forEach(remember);
    lastSeq = Math.max(lastSeq, news.revocations.at(-1)?.seq ?? 0);
    settledChanges = Math.max(settledChanges, changesSeen);
    if (number < lastLanded) return;
    lastLanded = number;
    loadedAtMs = nowMs;
    const published = new Set(news.keys.map((row) => row.kid));
    for (const kid of keys.keys()) if (!published.has(kid)) keys.delete(kid);
    for (const [name, row] of revoked) if (row.expiresSec * 1000 <= nowMs) revoked.delete(name);
  }

  function remember(row: Revocation): void {
    const name = nameOf(row.kind, row.key);
    if ((revoked.get(name)?.seq ?? -1) < row.seq) revoked.set(name, row);
  }

  const newestSigner = (nowMs: number, alg: SigningAlg): Key | undefined =>
    [...keys.values()]
      .filter((key) => key.alg === alg && key.signsFromMs <= nowMs)
      .sort((a, b) => b.signsFromMs - a.signsFromMs)[0];

  const trust: Trust = {
    async ensure(nowMs, freshness) {
      if (freshness === "recent" && settledChanges === changes && isWithin(TRUST_AGE.maxMs, nowMs)) return true;
      try {
        await refresh(nowMs);
        return true;
      } catch (thrown) {
        onFault(thrown);
        return freshness === "recent" && isWithin(TRUST_AGE.withoutD1Ms, nowMs);
      }
    },

    async verifyKey(kid, alg, nowMs) {
      // Made in another isolate a moment ago, perhaps. Bounded, since anybody can send a kid that nobody knows.
      if (!keys.has(kid) && !isWithin(TRUST_AGE.unknownKeyMs, nowMs)) await trust.ensure(nowMs, "now");
      const key = keys.get(kid);
      return key?.alg === alg ? key.verify : undefined;
    },

    isRevoked(token) {
      const about = [
        nameOf("token", token.tokenId),
        nameOf("grant", token.grantId),
        nameOf("session", token.sessionId),
        nameOf("client", token.clientId),
        nameOf("tenant", token.tenant),
        nameOf("user", token.user),
      ];
      return about.some((name) => (revoked.get(name)?.untilMs ?? -1) >= token.recordsAsOfMs);
    },

    async signingKey(nowMs, alg) {
      if (!isWithin(TRUST_AGE.forSigningMs, nowMs)) await refresh(nowMs);
      if (newestSigner(nowMs, alg) === undefined) {
        // Two isolates may both find none: the database keeps the first, and both read it back.
        await store.addFirstKey(await makeKey(alg, sealer, nowMs), nowMs);
        await refresh(nowMs);
      }
      const key = newestSigner(nowMs, alg);
      if (key === undefined) throw new Error("no signing key after one was made");
      key.sign ??= await openPrivateKey(key, sealer);
      return { kid: key.kid, key: key.sign };
    },

    wantsRefresh: (nowMs) => !isWithin(TRUST_AGE.wantedMs, nowMs),

    publicKeys: () => [...keys.values()].sort((a, b) => b.signsFromMs - a.signsFromMs).map((key) => key.publicJwk),

    changedBeside() {
      changes += 1;
    },

    async end(ended, beside) {
      (await store.end(ended, beside)).forEach(remember);
    },
  };
  return trust;
}

async function within<T>(waitMs: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${waitMs} ms`)), waitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const isKnown = (alg: string): alg is SigningAlg => Object.hasOwn(ALGORITHMS, alg);

/** Another version of the platform may have left keys of other algorithms beside ours. */
const importVerifyKey = async ({ alg, publicJwk }: SigningKeyRow): Promise<CryptoKey | undefined> =>
  isKnown(alg) ? crypto.subtle.importKey("jwk", publicJwk, ALGORITHMS[alg].webCrypto, false, ["verify"]) : undefined;

const nameOf = (kind: Revocation["kind"], key: string): string => `${kind}:${key}`;

async function makeKey(alg: SigningAlg, sealer: Sealer, nowMs: number): Promise<SigningKeyRow> {
  const { make, members } = ALGORITHMS[alg];
  const pair = (await crypto.subtle.generateKey(make, true, ["sign", "verify"])) as CryptoKeyPair;
  const exported = (await exportJwk(pair.publicKey)) as unknown as Record<string, string>;
  const named = Object.fromEntries(members.map((member) => [member, exported[member]]));
  const kid = toBase64Url(await sha256(JSON.stringify(named))).slice(0, 16);
  const publicJwk = { ...named, kid, alg, use: "sig" } as unknown as PublicJwk;
  const sealedPrivateJwk = await sealer.seal(JSON.stringify(await exportJwk(pair.privateKey)), contextOf(kid));
  return { kid, alg, publicJwk, sealedPrivateJwk, signsFromMs: nowMs };
}

async function openPrivateKey(key: SigningKeyRow, sealer: Sealer): Promise<CryptoKey> {
  const jwk = await sealer.open(key.sealedPrivateJwk, contextOf(key.kid));
  if (jwk === undefined)
    throw new Error(`signing key ${key.kid} does not open: SEAL_KEYS lacks the key that sealed it`);
  if (!isKnown(key.alg)) throw new Error(`signing key ${key.kid} is for ${key.alg}, which this version does not know`);
  const { webCrypto } = ALGORITHMS[key.alg];
  return crypto.subtle.importKey("jwk", JSON.parse(jwk) as JsonWebKey, webCrypto, false, ["sign"]);
}

const exportJwk = async (key: CryptoKey): Promise<JsonWebKey> =>
  (await crypto.subtle.exportKey("jwk", key)) as JsonWebKey;

/** A sealed key copied to another row does not open. */
const contextOf = (kid: string): string => `signing_key:${kid}`;
