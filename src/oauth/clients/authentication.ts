import type { RateLimit } from "../../http/rate-limit.ts";
import { fromBase64, fromUtf8 } from "../../platform/encoding.ts";
import { equalDigests, sha256Hex } from "../../platform/hash.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { Parameters } from "../model/parameters.ts";
import type { ClientRecord, Entry } from "./directory.ts";

/**
 * Client authentication (RFC 6749 2.3.1, contract 2.3): the header, or the body, never two secrets.
 *
 * Known and unknown clients, right and wrong secrets cost the same: one look-up that keeps misses too, a digest of what
 * was sent, at least one comparison.
 */
export interface Credentials {
  readonly clientId: string;
  /**
   * None, or an empty one (RFC 6749 2.3.1): the client names itself and proves nothing. Two: a Basic header whose
   * secret reads differently as it stands and form-decoded; RFC 6749 wants the second, the specification and most tools
   * send the first.
   */
  readonly secrets: readonly string[];
}

/** Compared with when there is nothing to compare with. */
const NO_DIGEST = "0".repeat(64);

/** The credentials that a request carries, if any. */
export function readCredentials(
  request: Request,
  parameters: Parameters,
): Result<Credentials | undefined, OAuthFailure> {
  const header = request.headers.get("authorization");
  const bodyId = parameters.get("client_id");
  const bodySecret = parameters.get("client_secret");
  if (header === null || !/^basic\b/i.test(header)) {
    if (bodyId !== undefined) return ok({ clientId: bodyId, secrets: bodySecret === undefined ? [] : [bodySecret] });
    return bodySecret === undefined
      ? ok(undefined)
      : err(failure("invalid_request", "client_secret needs a client_id."));
  }
  if (bodySecret !== undefined)
    return err(
      failure("invalid_request", "The client authenticates in two ways.", "secret in the header and in the body"),
    );
  const basic = readBasic(header);
  if (basic === undefined) return err(refused("the Basic header is not base64 of id:secret"));
  if (bodyId !== undefined && bodyId !== basic.clientId)
    return err(failure("invalid_request", "The client_id differs from that of the header.", "two client ids"));
  return ok(basic);
}

/**
 * Checks the secret; `entry` is what the directory says of these credentials. `limit` counts clients that proved
 * themselves alone: nobody uses up what is somebody else's.
 */
export async function authenticateClient(
  credentials: Credentials,
  entry: Entry,
  limit: RateLimit,
): Promise<Result<ClientRecord, OAuthFailure>> {
  const { client } = entry;
  const secrets = credentials.secrets.length === 0 ? [""] : credentials.secrets;
  const presented = await Promise.all(secrets.map((secret) => sha256Hex(secret)));
  const live = client === undefined || client.secretDigests.length === 0 ? [NO_DIGEST] : client.secretDigests;
  // No early end: each live secret is compared, whichever one fits.
  const matches = live.flatMap((digest) => presented.map((hash) => equalDigests(digest, hash))).includes(true);
  if (client === undefined) return err(refused(`client ${credentials.clientId} is unknown or disabled`));
  if (credentials.secrets.length === 0) return err(refused(`client ${client.id} sent no secret`, client.id));
  if (!matches) return err(refused(`wrong secret for client ${client.id}`, client.id));
  return (await limit.admits(client.id)) ? ok(client) : err(tooMany(client.id));
}

/** The client of a request. */
export interface Caller {
  readonly client: ClientRecord;
  /** It proved itself by a secret. */
  readonly authenticated: boolean;
  /** When its records were read, by the database's clock. */
  readonly asOfMs: number;
}

/** Like `authenticateClient`, and a client that is registered as one without a secret names itself without one. */
export async function identifyClient(
  credentials: Credentials,
  entry: Entry,
  limit: RateLimit,
): Promise<Result<Caller, OAuthFailure>> {
  const { client, asOfMs } = entry;
  const authenticated = await authenticateClient(credentials, entry, limit);
  if (authenticated.ok) return ok({ client: authenticated.value, authenticated: true, asOfMs });
  const named = client?.confidential === false && credentials.secrets.length === 0;
  return named ? ok({ client, authenticated: false, asOfMs }) : authenticated;
}

export const noCredentials = (): OAuthFailure =>
  failure(
    "invalid_client",
    "Client authentication is needed: send client_id and client_secret by HTTP Basic.",
    "no client credentials",
  );

/** RFC 6749 has no code for 429; its word for "not now" is that of the authorization endpoint. */
const tooMany = (clientId: string): OAuthFailure =>
  failure("temporarily_unavailable", "There are too many requests of this client.", "rate limit", clientId);

/** `clientId`: of the client that there is. */
const refused = (reason: string, clientId?: string): OAuthFailure => ({
  ...failure("invalid_client", "Client authentication failed.", reason),
  ...(clientId !== undefined && { clientId }),
});

function readBasic(header: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(header)?.[1];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  const text = bytes === undefined ? undefined : fromUtf8(bytes);
  const colon = text?.indexOf(":") ?? -1;
  if (text === undefined || colon < 1) return undefined;
  const clientId = formDecode(text.slice(0, colon));
  if (clientId === undefined) return undefined;
  const raw = text.slice(colon + 1);
  return { clientId, secrets: raw === "" ? [] : [...new Set([raw, formDecode(raw) ?? raw])] };
}

/** Id and secret are form-urlencoded before they are joined (RFC 6749 2.3.1). */
function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
