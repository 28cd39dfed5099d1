import { createSealer, type Sealer } from "../../platform/secrets/seal.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { fromBase64Url } from "../../platform/text/encoding.ts";
import type { HeldToken } from "../homes/held-token.ts";
import type { Authorization } from "../model/authorization.ts";
import type { RefreshGrants } from "./refresh-grants.ts";
import { GRACE_MS } from "./refresh-rotation.ts";

/**
 * The tokens of a device, once more. A device whose connection breaks off polls again (RFC 8628 3.5), and must not have
 * to begin anew:
 *
 *   redeemed ──polled again within 30 s, and its refresh token was not used──▶ the same refresh token
 *       └──────polled later, or after its use──▶ two parties hold the device code: the grant ends
 *
 * So it is with a refresh token that was replaced (refresh-rotation.ts). The id of the attempt that redeemed the code
 * holds its time and the refresh token, which opens with the device code and the key of the first poll only.
 */
export async function attemptOf(
  poll: DevicePoll,
  refreshToken: HeldToken | undefined,
  random: Random,
): Promise<string> {
  const sealed = await sealerOf(poll, random)?.seal(refreshToken?.text ?? "", sealContext(poll));
  return [randomId(random), poll.nowMs, sealed].join(" ");
}

/** A poll of an allowed device. */
export interface DevicePoll {
  readonly deviceCode: string;
  readonly codeHash: string;
  /** The thumbprint of the key that the device proved. */
  readonly proofKey: string | undefined;
  readonly nowMs: number;
}

/**
 * The refresh token of the attempt, with what its grant allows now; `none` if the attempt got none. Undefined if the
 * tokens are not given again.
 */
export async function answerOf(
  deps: { readonly refreshGrants: RefreshGrants; readonly random: Random },
  attempt: string,
  poll: DevicePoll,
): Promise<{ readonly token: HeldToken; readonly authorization: Authorization } | "none" | undefined> {
  const [, atMs = "", sealed = ""] = attempt.split(" ");
  if (atMs === "" || poll.nowMs - Number(atMs) > GRACE_MS) return undefined;
  const text = await sealerOf(poll, deps.random)?.open(sealed, sealContext(poll));
  if (text === undefined || text === "") return text === "" ? "none" : undefined;
  const token = await deps.refreshGrants.tokens.read(text);
  const found = await deps.refreshGrants.find(token);
  // A client with a secret uses its token without replacing it.
  if (found === undefined || found.usedAtMs !== undefined || found.grantUsed) return undefined;
  return { token, authorization: found.grant.authorization };
}

function sealerOf({ deviceCode }: DevicePoll, random: Random): Sealer | undefined {
  const bytes = fromBase64Url(deviceCode);
  return bytes === undefined ? undefined : createSealer([{ id: "d", bytes }], random);
}

/** With the key that the device proved (RFC 9449): whoever proves none, or another, is somebody else. */
const sealContext = ({ codeHash, proofKey = "" }: DevicePoll): string =>
  `refresh token of the device of ${codeHash} with the key ${proofKey}`;
