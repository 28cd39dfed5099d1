import type { RateLimit } from "../../http/callers/rate-limit.ts";
import { fromBase64, fromUtf8 } from "../../platform/text/encoding.ts";
import { equalDigests, sha256Hex } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { AnyCall } from "../model/call.ts";
import type { Parameters } from "../model/parameters.ts";
import { ASSERTION_TYPE, checkAssertion, namedByAssertion, signsAssertions, type AssertionDeps } from "./assertion.ts";
import type { ClientRecord } from "./directory-store.ts";
import type { Entry } from "./directory.ts";

/**
 * Client authentication: by a secret in the header or the body (RFC 6749 2.3.1), or by an assertion (RFC 7523) that the
 * client signs with a key or with its secret. A request uses one method, which must be the registered one.
 *
 * Known and unknown clients, right and wrong secrets cost the same: one lookup that caches misses too, one digest of
 * the secret, and at least one comparison.
 */
export interface Credentials {
  readonly clientId: string;
  /**
   * None, or an empty one (RFC 6749 2.3.1): the client only names itself. Two: a Basic header whose secret differs when
   * form-decoded. RFC 6749 wants the decoded one, but most tools send the plain one.
   */
  readonly secrets: readonly string[];
  /** A signed assertion, unchecked. It names the client. */
  readonly assertion?: string;
}

export interface AuthenticationDeps extends AssertionDeps {
  /** Counts the requests of an authenticated client. */
  readonly clientLimit: RateLimit;
}

/** Compared with if there is no digest. */
const NO_DIGEST = "0".repeat(64);

/** False if the client only names itself. */
export const provesItself = ({ secrets, assertion }: Credentials): boolean =>
  secrets.length > 0 || assertion !== undefined;

/** The credentials of a request, if any. */
export function readCredentials(
  request: Request,
  parameters: Parameters,
): Result<Credentials | undefined, OAuthFailure> {
  const header = request.headers.get("authorization");
  const bodyId = parameters.get("client_id");
  const bodySecret = parameters.get("client_secret");
  const assertion = readAssertion(parameters);
  if (!assertion.ok) return assertion;
  if (assertion.value !== undefined)
    return bodySecret !== undefined || (header !== null && /^basic\b/i.test(header))
      ? err(failure("invalid_request", "The client authenticates in two ways.", "a secret and an assertion"))
      : ok(assertion.value);
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
  if (basic === undefined) return err(refused("the Basic header is not the base64 of id:secret"));
  if (bodyId !== undefined && bodyId !== basic.clientId)
    return err(
      failure("invalid_request", "client_id differs from the one in the Authorization header.", "two client ids"),
    );
  return ok(basic);
}

/** The assertion of a request, if any. A `client_id` beside it must be the same (RFC 7521 4.2). */
function readAssertion(parameters: Parameters): Result<Credentials | undefined, OAuthFailure> {
  const [type, assertion] = [parameters.get("client_assertion_type"), parameters.get("client_assertion")];
  if (type === undefined && assertion === undefined) return ok(undefined);
  if (type === undefined || assertion === undefined)
    return err(failure("invalid_request", "client_assertion and client_assertion_type belong together."));
  if (type !== ASSERTION_TYPE)
    return err(failure("invalid_request", `client_assertion_type must be ${ASSERTION_TYPE}.`));
  const clientId = namedByAssertion(assertion);
  if (clientId === undefined) return err(refused("the assertion names no client"));
  if ((parameters.get("client_id") ?? clientId) !== clientId)
    return err(failure("invalid_request", "client_id differs from the one in client_assertion.", "two client ids"));
  return ok({ clientId, secrets: [], assertion });
}

/**
 * Checks the secret or the assertion. `entry`: the directory's record for these credentials. The limit counts
 * authenticated clients only, so nobody can use up the limit of another client.
 */
export async function authenticateClient(
  deps: AuthenticationDeps,
  credentials: Credentials,
  entry: Entry,
  call: AnyCall,
): Promise<Result<ClientRecord, OAuthFailure>> {
  const { client } = entry;
  const { assertion } = credentials;
  // The tenant is that of the token, if there will be one.
  if (client !== undefined) call.attributeTo("", client.id);
  const bySignature = client !== undefined && signsAssertions(client);
  if (bySignature && assertion !== undefined) {
    const checked = await checkAssertion(deps, client, assertion, call);
    if (!checked.ok) return err(refused(`client ${client.id}: ${checked.error}`, client.id));
    return (await deps.clientLimit.admits(client.id)) ? ok(client) : err(tooMany(client.id));
  }
  if (client !== undefined && (bySignature || assertion !== undefined))
    return err(refused(`client ${client.id} authenticates in a way that it is not registered for`, client.id));
  const live = client === undefined || client.secretDigests.length === 0 ? [NO_DIGEST] : client.secretDigests;
  let matches = false;
  for (const secret of credentials.secrets.length === 0 ? [""] : credentials.secrets) {
    const presented = await sha256Hex(secret);
    // No early exit: every valid secret is compared.
    for (const digest of live) matches = equalDigests(digest, presented) || matches;
  }
  if (client === undefined)
    return err(refused(`client ${credentials.clientId} is unknown, or it or its tenant is disabled`));
  if (credentials.secrets.length === 0) return err(refused(`client ${client.id} sent no secret`, client.id));
  if (!matches) return err(refused(`wrong secret for client ${client.id}`, client.id));
  return (await deps.clientLimit.admits(client.id)) ? ok(client) : err(tooMany(client.id));
}

/** The client of a request. */
export interface Caller {
  readonly client: ClientRecord;
  /** It proved itself. */
  readonly authenticated: boolean;
  /** The database's time when its records were read. */
  readonly asOfMs: number;
}

/** Like `authenticateClient`, but a client registered without a secret only names itself. */
export async function identifyClient(
  deps: AuthenticationDeps,
  credentials: Credentials,
  entry: Entry,
  call: AnyCall,
): Promise<Result<Caller, OAuthFailure>> {
  const { client, asOfMs } = entry;
  const authenticated = await authenticateClient(deps, credentials, entry, call);
  if (authenticated.ok) return ok({ client: authenticated.value, authenticated: true, asOfMs });
  const named = client?.confidential === false && !provesItself(credentials);
  return named ? ok({ client, authenticated: false, asOfMs }) : authenticated;
}

export const noCredentials = (): OAuthFailure =>
  failure(
    "invalid_client",
    "Client authentication is needed: send client_id and client_secret by HTTP Basic.",
    "no client credentials",
  );

/** RFC 6749 has no code for 429. This one is the authorization endpoint's. */
const tooMany = (clientId: string): OAuthFailure =>
  failure("temporarily_unavailable", "There are too many requests of this client.", "rate limit", clientId);

/** `clientId`: only if the client exists. */
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
