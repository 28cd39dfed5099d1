import { toSec } from "../../platform/runtime/clock.ts";
import { signJwt } from "../tokens/jwt.ts";
import { FAPI_ID_TOKEN_ALG, ID_TOKEN_ALG } from "../tokens/keys/signing-key.ts";
import type { Trust } from "../tokens/trust.ts";
import type { LogoutNotice } from "./logout-store.ts";

/** OpenID Connect Back-Channel Logout 1.0, 2.4. */
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
const TYPE = "logout+jwt";
/** As short as the specification asks for. */
const LIFETIME_SEC = 120;

/** Signed like the client's ID tokens. It has no nonce, so it is never taken for one. */
export async function issueLogoutToken(
  { id, clientId, subject, sid, issuer, isFapi }: LogoutNotice,
  trust: Pick<Trust, "signingKey">,
  nowMs: number,
): Promise<string> {
  const alg = isFapi ? FAPI_ID_TOKEN_ALG : ID_TOKEN_ALG;
  const signer = await trust.signingKey(nowMs, alg);
  const iat = toSec(nowMs);
  const claims = {
    iss: issuer,
    aud: clientId,
    sub: subject,
    iat,
    exp: iat + LIFETIME_SEC,
    jti: id,
    events: { [LOGOUT_EVENT]: {} },
    sid,
  };
  return signJwt({ alg, typ: TYPE, kid: signer.kid }, claims, signer.key);
}
