import type { Brand } from "../../../platform/model/brand.ts";
import { DEFAULT_PROVIDER, type Names } from "../../../platform/model/names.ts";
import type { ClientRecord } from "../../clients/directory-store.ts";
import {
  continuedParameter,
  expectedUserParameter,
  type AuthorizationParameters,
  type RequestedDevice,
} from "../../model/parameters.ts";
import type { ClaimsRequest } from "../../model/claims.ts";
import type { CodeChallenge } from "../../model/pkce.ts";
import type { ScopeRequest } from "../../model/granted-scopes.ts";
import type { Resource } from "../../model/resource.ts";
import type { BrowserDeps } from "../../sign-in/browser.ts";
import type { AuthorizeDeps } from "./deps.ts";
import type { Flow } from "./parse.ts";
import { continuedMarker } from "../pushed/pushed.ts";

/**
 * The user whom the client expects by `id_token_hint`. Nobody else gets an answer (OIDC Core 3.1.2.2). `unknown`: the
 * hint cannot be read, so no user can be shown to be the expected one.
 */
export type ExpectedUser = { readonly email: string } | "unknown";

/** An authorization request that passed all of `checks.ts`. The next step is to identify the user. */
export interface AuthorizationRequest {
  readonly parameters: AuthorizationParameters;
  readonly client: ClientRecord;
  /** The database's time when the client was read. */
  readonly clientAsOfMs: number;
  /** The look of the pages. */
  readonly brand: Brand | undefined;
  readonly redirectUri: string;
  readonly flow: Flow;
  /** As in ParsedRequest. */
  readonly device: RequestedDevice | undefined;
  readonly scopes: ScopeRequest;
  /** As in ParsedRequest. */
  readonly resources: readonly Resource[];
  readonly challenge: CodeChallenge | undefined;
  readonly nonce: string | undefined;
  readonly expectedUser: ExpectedUser | undefined;
  /**
   * OIDC Core 3.1.2.1. `none`: show no page. `login`: ask for the password even if the user is signed in.
   * `select_account`: offer another account if the one that is signed in gets nothing here.
   */
  readonly prompt: "none" | "login" | "select_account" | undefined;
  /** The user chooses among tenants if none is named, in the code flow too. */
  readonly tenantChoice: boolean;
  /** `prompt=consent`: ask for consent again even if it was given before. */
  readonly asksConsent: boolean;
  /** The client wants the kind of the sign-in in the ID token, or wants these kinds. */
  readonly acr: ClaimsRequest["acr"];
  /** Older sign-ins are not accepted. */
  readonly maxAgeMs: number | undefined;
  /** `default_idp`, `legacy_idp`, or the id of a registered identity provider. */
  readonly provider: string;
  /** The caller's own session id, for the log. Undefined if none was sent. */
  readonly callerSessionId: string | undefined;
}

export const requestedProvider = (parameters: AuthorizationParameters, names: Names): string =>
  parameters.get(names.parameter("id_provider")) ?? DEFAULT_PROVIDER;

/**
 * Addresses that a browser can reach from our forms: the redirect URI, and those that the client's callback may
 * redirect to, such as an app with its own scheme.
 */
export const formTargets = ({ redirectUri, client }: AuthorizationRequest): readonly string[] => [
  redirectUri,
  ...client.redirectUris,
];

/** Undefined without a `code_challenge`. */
export function readChallenge(
  parameters: AuthorizationParameters,
): { readonly value: string; readonly method: string } | undefined {
  const value = parameters.get("code_challenge");
  return value === undefined ? undefined : { value, method: parameters.get("code_challenge_method") ?? "plain" };
}

/** The longest URL that `http/pipeline.ts` accepts, less the part around the parameters of a carried request. */
export const MAX_CARRIED_CHARS = 15 * 1024;

/** True if the client expects nobody in particular or this user. */
export const isExpectedUser = (
  { expectedUser }: Pick<AuthorizationRequest, "expectedUser">,
  email: string | undefined,
): boolean => expectedUser === undefined || (expectedUser !== "unknown" && expectedUser.email === email);

/** Makes the request ready to be sent again: its parameters, the session id from the header and the expected user. */
async function toParameters(
  deps: Pick<AuthorizeDeps, "names" | "sealer">,
  {
    parameters: sent,
    callerSessionId,
    expectedUser,
  }: Pick<AuthorizationRequest, "parameters" | "callerSessionId" | "expectedUser">,
): Promise<Readonly<Record<string, string>>> {
  const { names } = deps;
  const { [expectedUserParameter(names)]: _sealed, ...parameters } = Object.fromEntries(sent.entries());
  const explicit = callerSessionId === undefined ? {} : { [names.header("session-id")]: callerSessionId };
  const expected =
    typeof expectedUser === "object"
      ? { [expectedUserParameter(names)]: await sealExpectedUser(deps, expectedUser.email) }
      : {};
  return { ...parameters, ...explicit, ...expected };
}

/**
 * The request for a page after its sign-in: without parameters that ask for another sign-in. `prompt=consent` stays,
 * since the sign-in may end while the page is open. `sid`: the session of the sign-in.
 */
export async function toParametersAfterSignIn(
  deps: Pick<AuthorizeDeps, "names" | "sealer">,
  request: AuthorizationRequest,
  sid: string,
): Promise<Readonly<Record<string, string>>> {
  const { prompt: _prompt, max_age: _maxAge, ...parameters } = await toParameters(deps, request);
  const { asksConsent } = request;
  const { pushed } = request.parameters;
  if (pushed === undefined) return asksConsent ? { ...parameters, prompt: "consent" } : parameters;
  return {
    ...parameters,
    [continuedParameter(deps.names)]: await continuedMarker(deps, { hash: pushed, sid, asksConsent }),
  };
}

/** The same as the field of a form that needs a session, so it takes no ID token hint. */
export async function toTextAfterSignIn(
  deps: Pick<AuthorizeDeps, "names" | "sealer">,
  request: AuthorizationRequest,
  sid: string,
): Promise<string> {
  const { id_token_hint: _hint, ...parameters } = await toParametersAfterSignIn(deps, request, sid);
  return new URLSearchParams(parameters).toString();
}

/**
 * For an address of ours: if the request was pushed, without the person whom its client expects. The platform has the
 * pushed parameters, and addresses are kept in histories and logs.
 */
export function ofAddress(
  { parameters: { pushed } }: Pick<AuthorizationRequest, "parameters">,
  { login_hint: hint, ...others }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return pushed === undefined && hint !== undefined ? { ...others, login_hint: hint } : others;
}

/**
 * For a page or a provider: replaces the ID token hint by the sealed expected user, so the token is not passed around.
 */
export async function toParametersWithoutHint(
  deps: Pick<AuthorizeDeps, "names" | "sealer">,
  request: AuthorizationRequest,
): Promise<Readonly<Record<string, string>>> {
  const { id_token_hint: _hint, ...parameters } = await toParameters(deps, request);
  return parameters;
}

/**
 * Seals the expected user for a trip through the browser. A plain address would let any page probe whether that person
 * is signed in here, by looking at where the browser ends up.
 */
const sealExpectedUser = ({ sealer }: Pick<BrowserDeps, "sealer">, email: string): Promise<string> =>
  sealer.seal(email, PURPOSE);

export async function openExpectedUser({ sealer }: Pick<BrowserDeps, "sealer">, sealed: string): Promise<ExpectedUser> {
  const email = await sealer.open(sealed, PURPOSE);
  return email === undefined ? "unknown" : { email };
}

const PURPOSE = "expected user";
