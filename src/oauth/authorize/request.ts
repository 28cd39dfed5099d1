import { DEFAULT_PROVIDER, type Names } from "../../platform/names.ts";
import type { ClientRecord } from "../clients/directory.ts";
import { expectedUserParameter, type AuthorizationParameters } from "../model/parameters.ts";
import type { CodeChallenge } from "../model/pkce.ts";
import type { ScopeRequest } from "../model/scopes.ts";
import type { AuthorizeDeps } from "./deps.ts";
import type { Flow } from "./parse.ts";
import type { BrowserDeps } from "../sign-in/browser.ts";

/** An authorization request that passed every check of `checks.ts`; what is left to find out is who the user is. */
export interface AuthorizationRequest {
  readonly parameters: AuthorizationParameters;
  readonly client: ClientRecord;
  /** When the client was read, by the database's clock. */
  readonly clientAsOfMs: number;
  readonly redirectUri: string;
  readonly flow: Flow;
  readonly scopes: ScopeRequest;
  readonly challenge: CodeChallenge | undefined;
  readonly nonce: string | undefined;
  readonly expectedUser: ExpectedUser | undefined;
  /**
   * OIDC Core 3.1.2.1: show nothing; ask for the password though the user is signed in; let another account be chosen,
   * where the one that is signed in gets nothing here.
   */
  readonly prompt: "none" | "login" | "select_account" | undefined;
  /** `prompt=consent`: ask again for what has to be allowed (consent.ts). */
  readonly asksConsent: boolean;
  /** An older sign-in does not do. */
  readonly maxAgeMs: number | undefined;
  /** `default_idp`, `legacy_idp`, or the id of a registered identity provider. */
  readonly provider: string;
  /** What the caller calls its session: for the log alone; undefined where none was sent. */
  readonly callerSessionId: string | undefined;
}

export const requestedProvider = (parameters: AuthorizationParameters, names: Names): string =>
  parameters.get(names.parameter("id_provider")) ?? DEFAULT_PROVIDER;

/**
 * What may come after one of our forms: where the client is, and what its callback may lead on to, an app by its own
 * scheme for example.
 */
export const formTargets = ({ redirectUri, client }: AuthorizationRequest): readonly string[] => [
  redirectUri,
  ...client.redirectUris,
];

/** Undefined: no challenge, or a method without one. */
export function readChallenge(
  parameters: AuthorizationParameters,
): { readonly value: string; readonly method: string } | undefined {
  const value = parameters.get("code_challenge");
  return value === undefined ? undefined : { value, method: parameters.get("code_challenge_method") ?? "plain" };
}

/** The longest address that `http/mount.ts` takes, less what stands around the parameters of a request that is carried on. */
export const MAX_CARRIED_CHARS = 15 * 1024;

/** Whether this user would do: the client means nobody in particular, or them. */
export const isExpectedUser = (
  { expectedUser }: Pick<AuthorizationRequest, "expectedUser">,
  email: string | undefined,
): boolean => expectedUser === undefined || (expectedUser !== "unknown" && expectedUser.email === email);

/** The request as it can be sent again: what came, the session id that came with a header, and whom a hint meant. */
export async function toParameters(
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

/** For a user who is to be asked: whom the hint meant goes along, the token itself is nothing to pass around. */
export async function toParametersWithoutHint(
  deps: Pick<AuthorizeDeps, "names" | "sealer">,
  request: AuthorizationRequest,
): Promise<Readonly<Record<string, string>>> {
  const { id_token_hint: _hint, ...parameters } = await toParameters(deps, request);
  return parameters;
}

/**
 * Whom the client means by `id_token_hint`: nobody else gets an answer (OIDC Core 3.1.2.2). `unknown`: the hint cannot be
 * read, so whoever happens to be signed in cannot be shown to be meant.
 */
export type ExpectedUser = { readonly email: string } | "unknown";

/**
 * Where the request goes through the browser again, whom it means goes along sealed. It only ever narrows, but an address in
 * plain text would let any page ask for any, and see by where the browser ends whether that person is signed in here.
 */
export const sealExpectedUser = ({ sealer }: Pick<BrowserDeps, "sealer">, email: string): Promise<string> =>
  sealer.seal(email, PURPOSE);

export async function openExpectedUser({ sealer }: Pick<BrowserDeps, "sealer">, sealed: string): Promise<ExpectedUser> {
  const email = await sealer.open(sealed, PURPOSE);
  return email === undefined ? "unknown" : { email };
}

const PURPOSE = "expected user";
