import { isLoopbackHost } from "../../platform/outside/ip-range.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { parseKeySet } from "../../platform/secrets/key-set.ts";

/** A client's own words about itself (RFC 7591 2), as far as they count here. Nobody has checked them. */
export interface ClientMetadata {
  /** May be empty. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** The grants `authorization_code` and perhaps `refresh_token`. */
  readonly grantTypes: readonly string[];
  /** Empty: the client only names itself. */
  readonly authMethod: "" | "private_key_jwt";
  /** The client's public keys, or their address. Both may be empty. */
  readonly jwks: string;
  readonly jwksUri: string;
}

/**
 * `origin`: of the document; redirect URIs and keys elsewhere do not count. Undefined: the client registers itself.
 */
export interface MetadataRules {
  readonly origin: string | undefined;
  readonly allowLoopback: boolean;
  /** The platform's own origins. Empty texts among them mean nothing. */
  readonly ownOrigins: readonly string[];
}

/** The errors of RFC 7591 3.2.2. */
export interface MetadataFault {
  readonly error: "invalid_redirect_uri" | "invalid_client_metadata";
  /** For the client's developer. */
  readonly description: string;
}

/** Our choices: real clients have some three addresses. */
const MAX_REDIRECT_URIS = 20;
const MAX_URI_CHARS = 500;
const MAX_NAME_CHARS = 80;
const GRANT_TYPES: readonly string[] = ["authorization_code", "refresh_token"];

export function readMetadata(
  document: Readonly<Record<string, unknown>>,
  rules: MetadataRules,
): Result<ClientMetadata, MetadataFault> {
  const redirectUris = readRedirectUris(document["redirect_uris"], rules);
  if (!redirectUris.ok) return redirectUris;
  const { client_name: name = "", grant_types: grants = ["authorization_code"], response_types: responses } = document;
  if (typeof name !== "string") return invalid("client_name must be a text.");
  if (!isTexts(grants) || !grants.includes("authorization_code"))
    return invalid("grant_types must include authorization_code.");
  if (responses !== undefined && (!isTexts(responses) || !responses.includes("code")))
    return invalid("response_types must include code.");
  const keys = readKeys(document, rules);
  if (!keys.ok) return keys;
  return ok({
    ...keys.value,
    name: printable(name),
    redirectUris: redirectUris.value,
    grantTypes: GRANT_TYPES.filter((type) => grants.includes(type)),
  });
}

/** A registration with one bad address fails. A document keeps its good ones: others may be for other servers. */
function readRedirectUris(value: unknown, rules: MetadataRules): Result<readonly string[], MetadataFault> {
  const refuse = (description: string): Result<never, MetadataFault> =>
    err({ error: "invalid_redirect_uri", description });
  if (!isTexts(value) || value.length === 0) return refuse("redirect_uris must list addresses.");
  if (value.length > MAX_REDIRECT_URIS) return refuse(`redirect_uris lists more than ${MAX_REDIRECT_URIS} addresses.`);
  const good = value.filter((uri) => isRedirectUri(uri, rules));
  const where = rules.origin === undefined ? "https, at no host of this platform" : `https at ${rules.origin}`;
  if (good.length === 0 || (rules.origin === undefined && good.length < value.length))
    return refuse(`redirect_uris must be ${where}, or http at 127.0.0.1, [::1] or localhost, without a fragment.`);
  return ok(good);
}

const LOOPBACK_HOSTS: readonly string[] = ["127.0.0.1", "[::1]", "localhost"];

/**
 * True if the platform is at this host, at any port. Pages show a client's host for who it is, and here the files and
 * services of every tenant are. It says nothing of hosts of this machine, where agents run beside a local platform.
 */
export const isOwnHost = ({ hostname }: URL, ownOrigins: readonly string[]): boolean =>
  !isLoopbackHost(hostname) && ownOrigins.some((own) => URL.parse(own)?.hostname === hostname.replace(/\.$/, ""));

function isRedirectUri(uri: string, { origin, ownOrigins }: MetadataRules): boolean {
  const url = uri.length > MAX_URI_CHARS || !/^[\x21-\x7e]+$/.test(uri) ? null : URL.parse(uri);
  if (url === null || uri.includes("#") || url.username + url.password !== "") return false;
  // An application on the person's machine (RFC 8252 7.3).
  if (url.protocol === "http:") return LOOPBACK_HOSTS.includes(url.hostname);
  return parseOutboundUrl(uri, false).ok && url.origin === (origin ?? url.origin) && !isOwnHost(url, ownOrigins);
}

function readKeys(
  document: Readonly<Record<string, unknown>>,
  { origin, allowLoopback }: MetadataRules,
): Result<Pick<ClientMetadata, "authMethod" | "jwks" | "jwksUri">, MetadataFault> {
  const { token_endpoint_auth_method: method = "none", jwks, jwks_uri: jwksUri } = document;
  // Nobody can keep a secret in a public document.
  if (origin !== undefined && ["client_secret", "client_secret_expires_at"].some((name) => name in document))
    return invalid("A client has no secret in its document.");
  if (jwks !== undefined && jwksUri !== undefined) return invalid("Name jwks or jwks_uri, not both.");
  if (method !== "private_key_jwt") {
    const isTaken = method === "none" || (origin === undefined && typeof method === "string");
    return isTaken
      ? ok({ authMethod: "", jwks: "", jwksUri: "" })
      : invalid("token_endpoint_auth_method must be none or private_key_jwt.");
  }
  if (jwks === undefined && jwksUri === undefined) return invalid("private_key_jwt needs jwks or jwks_uri.");
  if (jwks !== undefined) {
    const text = JSON.stringify(jwks);
    const parsed = parseKeySet(text);
    return parsed.ok ? ok({ authMethod: method, jwks: text, jwksUri: "" }) : invalid("jwks is no set of public keys.");
  }
  const address = typeof jwksUri === "string" ? parseOutboundUrl(jwksUri, allowLoopback) : undefined;
  if (typeof jwksUri !== "string" || address?.ok !== true) return invalid("jwks_uri must be an address with https.");
  if (origin !== undefined && address.value.origin !== origin) return invalid(`jwks_uri must be at ${origin}.`);
  return ok({ authMethod: method, jwks: "", jwksUri });
}

/** Without characters that hide or turn what a page says. */
const printable = (name: string): string =>
  name
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_NAME_CHARS)
    .toWellFormed();

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

const invalid = (description: string): Result<never, MetadataFault> =>
  err({ error: "invalid_client_metadata", description });
