import * as z from "zod/mini";
import { matching } from "../../../http/input/validate.ts";
import { isWeakKey, parseKeySet } from "../../../platform/secrets/key-set.ts";
import { PATTERNS, PATTERN_WORDS } from "../../../platform/model/names.ts";
import { parseOutboundUrl } from "../../../platform/outside/outbound-url.ts";
import { brand, brandFaults, isHttpsAddress } from "../../model/brand.ts";
import { disabledFlag, identifier, keptFlag, scopeList, secondFactorFlag, tenantId } from "../../model/fields.ts";
import { builtInFault, type Fault, type RuleContext } from "../../model/rules.ts";

const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const GRANT_TYPES = [
  "client_credentials",
  "authorization_code",
  "refresh_token",
  "implicit",
  "password",
  DEVICE,
  EXCHANGE,
] as const;
const AUTH_METHODS = ["client_secret", "client_secret_jwt", "private_key_jwt"] as const;
const PROFILES = ["none", "fapi2"] as const;
function isKeySet(text: string): boolean {
  if (text === "") return true;
  const keys = parseKeySet(text);
  return keys.ok && !keys.value.keys.some(isWeakKey);
}
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * True for https, http on a loopback host, or a private-use scheme. Patterns are refused, because addresses must match
 * character by character.
 */
function isRedirectUri(text: string): boolean {
  if (text.length > 2000) return false;
  const url = URL.parse(text);
  if (url === null || /[#*]/.test(text) || /[\s\p{Cc}]/u.test(text)) return false;
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  if (url.protocol === "http:") return LOOPBACK_HOSTS.includes(url.hostname);
  // A private-use scheme is a reversed domain name (RFC 8252 8.4), so it has a dot.
  return url.protocol.includes(".");
}

const redirectUri = z
  .string()
  .check(
    z.refine(
      isRedirectUri,
      "must be https, http on a loopback host, or a private-use scheme with a dot, without fragment and wildcard",
    ),
  );
const redirectUris = z._default(z.array(redirectUri).check(z.maxLength(50)), []);
/**
 * A secret is printable ASCII, which survives every way of sending it. It has at least 32 characters, because only a
 * plain digest is stored.
 */
const secret = z
  .string()
  .check(z.regex(/^[\x21-\x7e]{32,256}$/, "must be 32 to 256 visible ASCII characters, without spaces"));

/** True for a picture by https or as data, which browsers show without running scripts. */
const isLogo = (text: string): boolean =>
  /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(text) || isHttpsAddress(text);
const logoUri = z
  .string()
  .check(z.maxLength(8_000))
  .check(z.refine((text) => text === "" || isLogo(text), "must be https, or data of a png, jpeg, gif or webp"));

export const params = z.object({ clientId: identifier });
/**
 * The body of a client's PUT. `check` has the rules that need no rows of the database; the command line checks the
 * files of `apply` by the same rules.
 */
export const schema = z.object({
  name: z.optional(matching(PATTERNS.clientName)),
  displayName: z._default(z.string().check(z.maxLength(100)), ""),
  logoUri: z._default(logoUri, ""),
  brand,
  tenant: tenantId,
  confidential: z.boolean(),
  service: z.optional(identifier),
  redirectUris,
  postLogoutRedirectUris: redirectUris,
  grantTypes: z.array(z.enum(GRANT_TYPES)).check(z.maxLength(GRANT_TYPES.length)),
  scopes: scopeList,
  requirePkce: keptFlag,
  filesPerUser: keptFlag,
  thirdParty: keptFlag,
  requireSecondFactor: secondFactorFlag,
  backchannelLogoutUri: z.optional(z.string().check(z.maxLength(2000))),
  backchannelLogoutSessionRequired: keptFlag,
  authMethod: z.optional(z.enum(AUTH_METHODS)),
  requirePushedAuthorizationRequests: keptFlag,
  dpopBoundAccessTokens: keptFlag,
  securityProfile: z.optional(z.enum(PROFILES)),
  jwks: z.optional(
    z
      .string()
      .check(
        z.refine(isKeySet, "must be a JSON Web Key Set of public keys alone, those of RSA with 2048 bits or more"),
      ),
  ),
  jwksUri: z.optional(z.string().check(z.maxLength(2000))),
  clientSecret: z.optional(secret),
  disabled: disabledFlag,
});
export type Body = z.output<typeof schema>;

/** The parts of the deployment that these rules depend on. */
export type Rules = Pick<RuleContext, "names" | "builtIn" | "allowLoopback">;

export const isBuiltIn = (id: string, { names }: Pick<RuleContext, "names">): boolean =>
  id.startsWith(names.client(""));

/** `id` is undefined if it is not valid. A client without a name has its id as its name. */
export function check(
  id: string | undefined,
  client: Partial<Body>,
  { names, builtIn, allowLoopback }: Rules,
): Fault[] {
  const faults: Fault[] = [];
  const refuse = (field: string, message: string) => void faults.push({ type: "invalid_field", field, message });
  const name = client.name ?? id;
  if (name !== undefined && isBuiltIn(name, { names })) return [builtInFault("client", name)];
  if (name !== undefined && !PATTERNS.clientName.test(name))
    refuse(
      "name",
      `The id ${name} cannot be its name too, so give it one (name). A client's name ${PATTERN_WORDS.get(PATTERNS.clientName)}.`,
    );
  if (client.scopes?.includes(builtIn.adminScope) === true)
    refuse("scopes", `${builtIn.adminScope} is the operator client's alone.`);
  if (client.clientSecret !== undefined && client.confidential === false)
    refuse("clientSecret", "A client that is not confidential has no secret.");
  if (client.thirdParty === true && client.grantTypes?.includes("password") === true)
    refuse("grantTypes", "A third-party client needs people's consent, and the password grant has no page for it.");
  const told = client.backchannelLogoutUri || undefined;
  const address = told === undefined ? undefined : parseOutboundUrl(told, allowLoopback);
  if (address?.ok === false) refuse("backchannelLogoutUri", `backchannelLogoutUri ${address.error}.`);
  return [...faults, ...brandFaults(client), ...keyFaults(client, allowLoopback), ...profileFaults(client)];
}

/** Checks the rules of FAPI 2.0 Security Profile 5.3.2 that depend on the record. The platform ensures the others. */
function profileFaults({
  securityProfile,
  authMethod,
  redirectUris: uris = [],
  grantTypes = [],
}: Partial<Body>): Fault[] {
  if (securityProfile !== "fapi2") return [];
  const fault = (field: string, message: string): Fault[] => [{ type: "invalid_field", field, message }];
  if (authMethod !== "private_key_jwt") return fault("authMethod", "FAPI 2.0 clients must use private_key_jwt.");
  if (grantTypes.includes("implicit") || grantTypes.includes("password"))
    return fault("grantTypes", "FAPI 2.0 clients cannot use implicit or password.");
  return uris.every((uri) => uri.startsWith("https://"))
    ? []
    : fault("redirectUris", "The redirect URIs of FAPI 2.0 clients must be https.");
}

/** A client that signs with keys has them either in `jwks` or at `jwksUri`, and has no secret. */
function keyFaults(
  { authMethod, confidential, clientSecret, jwks = "", jwksUri = "" }: Partial<Body>,
  allowLoopback: boolean,
): Fault[] {
  const fault = (field: string, message: string): Fault[] => [{ type: "invalid_field", field, message }];
  const address = jwksUri === "" ? undefined : parseOutboundUrl(jwksUri, allowLoopback);
  if (address?.ok === false) return fault("jwksUri", `jwksUri ${address.error}.`);
  if (authMethod === undefined || authMethod === "client_secret") return [];
  if (confidential === false) return fault("authMethod", "A client that is not confidential does not authenticate.");
  if (authMethod === "client_secret_jwt") return [];
  if (clientSecret !== undefined) return fault("clientSecret", "A client with private_key_jwt has no secret.");
  if ((jwks === "") === (jwksUri === "")) return fault("jwks", "private_key_jwt needs either jwks or jwksUri.");
  return [];
}
