import { baseOf, checkAddress, UnauthorizedError, UnavailableError } from "./errors.ts";
import { wait } from "./wait.ts";

/** The caller of a request, from the claims of its token. */
export interface Caller {
  /** Empty in a person's token without a tenant. */
  readonly tenant: string;
  /** The calling application's client id. */
  readonly client: string;
  /** The person; empty if the application acts for itself. */
  readonly user: string;
  readonly scopes: ReadonlySet<string>;
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface VerifierOptions {
  /** The platform's address, with its path prefix. Its issuer is `{url}/oauth2/v1`. */
  readonly url: string;
  /** The registered name of your service. Through the gateway, callers of other tenants have tokens made for it. */
  readonly service?: string;
  readonly fetch?: typeof globalThis.fetch;
  /** Tolerated difference of clocks, 5 s by default. */
  readonly clockToleranceSec?: number;
}

export type TokenVerifier = (authorization: string | null | undefined) => Promise<Caller>;

/**
 * The shortest time between two tries to fetch keys: anybody can invent a key id, and a platform that does not answer
 * has no other keys.
 */
const REFETCH_MS = 10_000;
/** Older keys are fetched anew beside the checks. */
const REFRESH_MS = 1_800_000;
/** Without a try for so long, a check waits for the keys, since the platform may have withdrawn one meanwhile. */
const KEYS_MAX_AGE_MS = 3_600_000;
const FETCH_MS = 5_000;
const MAX_TOKEN_CHARS = 16_384;

/**
 * Checks an `Authorization` header or a bare token without asking the platform: signature (ES256, by a published key),
 * `typ` with its audience, issuer, expiry. Two kinds are accepted: `at+jwt` for the whole platform, and, if `service`
 * is given, `service+jwt` for this service alone. Throws `UnauthorizedError`, or `UnavailableError` if the keys cannot
 * be fetched. A revoked token is valid here until it expires; only the platform knows that it was revoked.
 */
export function createTokenVerifier({
  url,
  service,
  fetch = globalThis.fetch.bind(globalThis),
  clockToleranceSec = 5,
}: VerifierOptions): TokenVerifier {
  const issuer = `${baseOf(url)}/oauth2/v1`;
  checkAddress(issuer);
  const audiences: Readonly<Record<string, string | undefined>> = {
    "at+jwt": new URL(issuer).origin,
    "service+jwt": service,
  };
  const keys = keySet(`${issuer}/jwks`, fetch);

  return async (authorization) => {
    const token = /^(?:Bearer +)?([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > MAX_TOKEN_CHARS)
      throw refusal("This needs an access token: send Authorization: Bearer <token>.");
    const [head = "", body = "", signature = ""] = token.split(".");
    const { alg, typ, kid } = decode(head);
    const audience = typeof typ === "string" && Object.hasOwn(audiences, typ) ? audiences[typ] : undefined;
    if (alg !== "ES256" || audience === undefined || typeof kid !== "string")
      throw refusal("The access token is not one for this service.");
    const key = await keys(kid);
    const isSigned =
      key !== undefined &&
      (await crypto.subtle.verify(
        { name: "ECDSA", hash: "SHA-256" },
        key,
        readBytes(signature),
        new TextEncoder().encode(`${head}.${body}`),
      ));
    if (!isSigned) throw refusal("The access token is not signed by the platform.");
    const claims = decode(body);
    const nowSec = Date.now() / 1_000;
    const { iss, aud, exp, nbf } = claims;
    if (iss !== issuer) throw refusal(`The access token is not one of ${issuer}.`);
    if (aud !== audience) throw refusal("The access token is not one for this service.");
    if (typeof exp !== "number" || nowSec >= exp + clockToleranceSec) throw refusal("The access token has expired.");
    if (typeof nbf === "number" && nowSec < nbf - clockToleranceSec)
      throw refusal("The access token is not valid yet.");
    const text = (name: string): string => (typeof claims[name] === "string" ? claims[name] : "");
    return {
      tenant: text("tenant"),
      client: text("client_id"),
      user: text("user"),
      scopes: new Set(text("scope").split(" ").filter(Boolean)),
      claims,
    };
  };
}

/** Types that every runtime has: Node's own know neither `CryptoKey` nor `JsonWebKey` without those of a browser. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
interface PublishedKey {
  readonly kid?: string;
  readonly kty: string;
  readonly crv?: string;
}

/**
 * The platform's public keys by id: fetched once, again when a token names a new one, and beside the checks when they
 * are old. So a platform that does not answer delays no token whose key is known.
 */
function keySet(address: string, fetch: typeof globalThis.fetch): (kid: string) => Promise<Key | undefined> {
  let kept = new Map<string, Key>();
  let fetchedMs = Number.NEGATIVE_INFINITY;
  let triedMs = Number.NEGATIVE_INFINITY;
  let besideMs = Number.NEGATIVE_INFINITY;
  /** Why the last try failed. */
  let failed: { readonly cause: unknown } | undefined;
  let fetching: Promise<void> | undefined;

  function fail(cause: unknown): void {
    failed = { cause };
    triedMs = Date.now();
  }

  async function load(): Promise<void> {
    try {
      const response = await fetch(address, { signal: AbortSignal.timeout(FETCH_MS) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const { keys } = (await response.json()) as { keys: PublishedKey[] };
      const found = new Map<string, Key>();
      for (const jwk of keys) {
        if (jwk.kty !== "EC" || jwk.crv !== "P-256" || typeof jwk.kid !== "string") continue;
        const algorithm = { name: "ECDSA", namedCurve: "P-256" };
        found.set(jwk.kid, await crypto.subtle.importKey("jwk", jwk, algorithm, false, ["verify"]));
      }
      kept = found;
      failed = undefined;
      fetchedMs = triedMs = Date.now();
    } catch (cause) {
      fail(cause);
    }
  }

  /** Waits for the fetch that others wait for, or for a new one. */
  async function fetchFirst(): Promise<void> {
    fetching ??= load().finally(() => (fetching = undefined));
    // In a Worker, a fetch ends without a word together with the request that began it.
    const limit = new AbortController();
    const giveUp = async (): Promise<void> => {
      await wait(FETCH_MS + 500, limit.signal);
      fetching = undefined;
      fail(new Error("no answer in time"));
    };
    await Promise.race([fetching, giveUp()]);
    limit.abort();
  }

  return async (kid) => {
    const nowMs = Date.now();
    const isKnown = kept.has(kid);
    if (nowMs - triedMs > REFETCH_MS) {
      if (!isKnown || nowMs - triedMs > KEYS_MAX_AGE_MS) await fetchFirst();
      else if (nowMs - fetchedMs > REFRESH_MS && nowMs - besideMs > REFETCH_MS) {
        // In a Worker, this may end with the request; the first check after an hour then waits.
        besideMs = nowMs;
        void load();
      }
    }
    const key = kept.get(kid);
    if (key === undefined && failed !== undefined)
      throw new UnavailableError({
        status: 503,
        type: "keys_unavailable",
        message: `${address} does not answer.`,
        cause: failed.cause,
      });
    return key;
  };
}

/** Tells whether the caller's token has the scope. */
export const hasScope = ({ scopes }: Caller, scope: string): boolean => scopes.has(scope);

const refusal = (message: string): UnauthorizedError =>
  new UnauthorizedError({ status: 401, type: "insufficient_credentials", message });

function decode(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(readBytes(part)),
    );
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw unreadable();
}

const unreadable = (): UnauthorizedError => refusal("The access token cannot be read.");

/** Throws the refusal of a part that is cut off: `atob` takes not every length. */
function readBytes(base64url: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (char) => char.charCodeAt(0));
  } catch {
    throw unreadable();
  }
}
