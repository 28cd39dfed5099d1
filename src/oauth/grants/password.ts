import { LEGACY_PROVIDER } from "../../platform/model/names.ts";
import { randomId } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { authenticateClient, noCredentials, provesItself, type Caller } from "../clients/authentication.ts";
import { isThirdParty } from "../consent/consent.ts";
import { toAuthorization } from "../model/authorization.ts";
import { UNBOUND } from "../model/binding.ts";
import { newGrantId } from "../model/grant-id.ts";
import { BY_PASSWORD } from "../model/methods.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { ClientRights } from "../model/granted-scopes.ts";
import { restrict } from "../model/resource.ts";
import type { SignIn } from "../sign-in/accounts.ts";
import type { UserRecord } from "../users/user-store.ts";
import {
  grantFault,
  passwordGrantFault,
  refusedScope,
  type GrantDeps,
  type GrantStep,
  type TokenRequest,
} from "./grant-step.ts";
import type { RefreshGrant } from "./refresh-store.ts";
import { grantForUser, type DefaultTenant, type UserGrantRefusal } from "./user-grant.ts";

/**
 * A user's address and password (RFC 6749 4.3, deprecated). The client decides how much is granted:
 *
 *   no client                 only if the deployment allows it: any user, limited by roles alone; `clientId` is
 *                             empty; no ID token, no refresh token
 *   client_id                 limited by the client's scopes too; not authenticated, so no refresh token
 *   client_id and secret      the same, and a refresh token if the client is registered for them
 *
 * A client of a tenant that the user is not a member of gets nothing outside the user's tenants, because there is no
 * page for consent. If no tenant is named: the client's own if the user is a member, else the only possible one.
 * Where two factors are needed the grant gives nothing, for the same reason.
 */
export const passwordGrant: GrantStep = async (deps, request) => {
  const { call, parameters, credentials } = request;
  const fault = passwordGrantFault(deps.passwordGrant, credentials !== undefined);
  if (deps.passwordGrant === "nobody")
    return err(failure("unsupported_grant_type", "This grant_type is not supported.", fault));
  if (fault !== undefined) return err({ ...noCredentials(), reason: fault });
  const provider = deps.names.parameter("id_provider");
  if (parameters.get(provider) !== LEGACY_PROVIDER)
    return err(failure("invalid_request", `This grant needs ${provider}=${LEGACY_PROVIDER}.`));
  const username = parameters.get("username");
  const password = parameters.get("password");
  if (username === undefined) return err(failure("invalid_request", "username is missing."));
  if (password === undefined) return err(failure("invalid_request", "password is missing."));
  const passed = await passedClient(deps, request);
  if (!passed.ok) return passed;
  const caller = passed.value;
  const client = caller?.client;
  // Checked before the password, so that nobody can try passwords where no password is enough.
  if (client?.asksTwoFactors === true)
    return err(failure("unauthorized_client", NO_SECOND_FACTOR, `client ${client.id} needs two factors`, client.id));
  if (client !== undefined && isThirdParty(client))
    return err(failure("unauthorized_client", NO_CONSENT, `client ${client.id} needs consent`, client.id));

  const refused = (kind: Exclude<SignIn["kind"], "ok">, reason: string) =>
    failure("invalid_grant", REFUSAL[kind], reason, client?.id);
  const byClient = caller?.authenticated ?? false;
  const signIn = await deps.accounts.signIn(username, { password, byClient }, call);
  if (signIn.kind !== "ok") {
    const failed = refused(signIn.kind, `the sign-in was refused: ${signIn.kind}`);
    return err(signIn.kind === "blocked" ? { ...failed, retryAtMs: signIn.untilMs } : failed);
  }
  const user = await deps.users.find(signIn.email);
  // Any change to the user during the password check counts as earlier than the sign-in.
  if (user === undefined || user.signedOutAtMs >= call.nowMs) return err(refused("wrong", "the user has just changed"));

  const clientAuthenticated = byClient;
  const grantedFor = await grantForUser(
    deps,
    {
      client,
      clientAuthenticated,
      user,
      binding: UNBOUND,
      scopes: request.scopes,
      targets: request.resources,
      defaultTenant: defaultTenantFor(client, user),
      methods: BY_PASSWORD,
      asksTwoFactors: false,
      hasPages: false,
    },
    call.nowMs,
  );
  if (!grantedFor.ok) return err(refusedPlace(deps, grantedFor.error, client?.id));
  const recordsAsOfMs = Math.min(grantedFor.value.recordsAsOfMs, caller?.asOfMs ?? Infinity);
  const granted = { ...restrict(grantedFor.value, request.resources, deps.names), recordsAsOfMs };

  const idToken =
    client === undefined ? undefined : { authenticatedAtMs: call.nowMs, methods: BY_PASSWORD, nonce: undefined };
  const sessionId = randomId(deps.random);
  const outcome = { granted, sessionId, idToken };
  if (client === undefined || !clientAuthenticated || !client.grantTypes.includes("refresh_token"))
    return ok({ ...outcome, grantId: undefined, refreshToken: undefined });
  const grantId = newGrantId(sessionId, deps.random);
  const authorization = toAuthorization(
    granted,
    { sessionId, authenticatedAtMs: call.nowMs, methods: BY_PASSWORD },
    deps.names,
  );
  const grant = { id: grantId, clientId: client.id, email: user.email, authorization };
  return ok({ ...outcome, grantId, refreshToken: await createRefreshGrant(deps, grant, call.nowMs) });
};

const NO_CONSENT =
  "The client needs the consent of the person, and this grant has no page for it. Use the authorization code flow.";
const NO_SECOND_FACTOR =
  "Two factors are needed, and this grant has no page to ask for the second one. Use the authorization code flow.";

/** Adds a grant that lives until it is revoked. Returns its first refresh token (256 bits, stored as SHA-256). */
async function createRefreshGrant(deps: GrantDeps, grant: RefreshGrant, nowMs: number): Promise<string> {
  const token = await deps.refreshGrants.newToken(grant.email);
  await deps.refreshGrants.add(grant, token, nowMs);
  return token.text;
}

const REFUSAL = {
  wrong: "The e-mail address or the password is wrong.",
  /** A fixed text, which clients may compare. */
  blocked: "There were too many unsuccessful authentication attempts. Try again later.",
} as const;

/**
 * The client, if one was named. A caller who names a client without its secret cannot learn whether it exists: a client
 * that may not be used this way gives the same response as an unknown one.
 */
async function passedClient(
  deps: GrantDeps,
  { call, credentials, proofKey }: TokenRequest,
): Promise<Result<Caller | undefined, OAuthFailure>> {
  if (credentials === undefined) return ok(undefined);
  const entry = await deps.directory.find(credentials.clientId, undefined, call);
  const { client, asOfMs } = entry;
  const authenticated = await authenticateClient(deps, credentials, entry, call);
  const registered = client?.grantTypes.includes("password") ?? false;
  if (!provesItself(credentials) && client !== undefined && registered && client.bindsTokens !== true)
    return ok({ client, authenticated: false, asOfMs });
  if (!authenticated.ok) return authenticated;
  const fault = grantFault(authenticated.value, "password", proofKey);
  return fault === undefined ? ok({ client: authenticated.value, authenticated: true, asOfMs }) : err(fault);
}

export const defaultTenantFor = (client: Pick<ClientRights, "tenant"> | undefined, user: UserRecord): DefaultTenant =>
  user.tenants.some(({ id }) => id === client?.tenant) ? "of-client" : "only";

function refusedPlace({ names }: GrantDeps, refusal: UserGrantRefusal, actor: string | undefined): OAuthFailure {
  switch (refusal.kind) {
    case "scope":
      return refusedScope(refusal.refusal, actor);
    case "second-factor":
      return failure("invalid_grant", NO_SECOND_FACTOR, refusal.reason, actor);
    case "no-tenant":
      return failure("invalid_grant", "The user is not a member of a suitable tenant.", refusal.reason, actor);
    case "choose": {
      const scope = names.scope("tenant=<tenant>");
      const tenants = refusal.tenants.map(({ id }) => id).join(", ");
      return failure("invalid_scope", `Name one of the user's tenants: ${scope}.`, `one of ${tenants}`, actor);
    }
  }
}
