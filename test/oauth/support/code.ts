import { env } from "cloudflare:workers";
import { randomId, systemRandom } from "../../../src/platform/runtime/random.ts";
import { createUserStore } from "../../../src/oauth/users/user-store.ts";
import type { CodeRequest } from "../../../src/oauth/grants/code-store.ts";
import { createCodes } from "../../../src/oauth/grants/codes.ts";
import { createCode } from "../../../src/oauth/grants/authorization-code.ts";
import { createHeldTokens } from "../../../src/oauth/homes/held-token.ts";
import { homeOf } from "../../../src/platform/storage/home.ts";
import type { Authorization } from "../../../src/oauth/model/authorization.ts";
import { createSessionStore } from "../../../src/oauth/sign-in/session-store.ts";
import { createSealer, parseSealKeys } from "../../../src/platform/secrets/seal.ts";
import { shardsOf } from "../../../src/platform/storage/shards.ts";
import { shardDb } from "../../support/shards.ts";
import { MEDIA, REDIRECT, type Flow } from "./flow.ts";

/** Makes codes as `/authorize` does, without its pages. */
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/** BASE64URL(SHA256(VERIFIER)), RFC 7636 appendix B. */
export const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

export interface CodeOptions extends Partial<Omit<CodeRequest, "authorization">> {
  readonly authorization?: Partial<Authorization>;
  /** The database of the code, if it is not the home: codes from before a shard was added lie there. */
  readonly shard?: number;
}

const shards = shardsOf(env);

const sealKeys = parseSealKeys(env.SEAL_KEYS);

if (!sealKeys.ok) throw new Error(sealKeys.error);

const heldCodes = createHeldTokens(createSealer(sealKeys.value, systemRandom), systemRandom, shards.length, "code");

const codes = createCodes(shards, createUserStore(env.DB, "email", systemRandom), heldCodes);

/** Adds a session with this id, because a code in a shard needs one. No browser has its cookie. */
async function sessionIn(shard: number, email: string, sid: string, authenticatedAtMs: number): Promise<void> {
  const store = createSessionStore(shardDb(shard), false);
  const idHash = `${sid}${randomId(systemRandom)}`;
  const times = { authenticatedAtMs, seenAtMs: authenticatedAtMs, expiresAtMs: Date.now() + 43_200_000 };
  const where = { browser: "", system: "", country: "", city: "" };
  const record = { idHash, email, sid, provider: "default_idp", ...times, ...where };
  await store.run(store.startStatements(record, undefined).statements);
}

/** Makes a code in the home of its person, by default with PKCE and S256. */
export async function codeFor(flow: Flow, options: CodeOptions = {}): Promise<string> {
  const { authorization: some, ...request } = options;
  const nowMs = Date.now();
  const email = request.email ?? flow.email;
  const { shard = homeOf(email, shards.length) } = options;
  const authorization = {
    tenant: flow.tenant,
    tenantExplicit: false,
    org: "",
    openid: false,
    scopes: MEDIA,
    sessionId: "session-1",
    authenticatedAtMs: nowMs,
    ...some,
  };
  if (shard > 0) await sessionIn(shard, email, authorization.sessionId, authorization.authenticatedAtMs);
  const code = await createCode(
    { codes, random: systemRandom },
    {
      clientId: flow.client.clientId,
      email,
      redirectUri: REDIRECT,
      challenge: { value: CHALLENGE, method: "S256" },
      nonce: undefined,
      shard,
      ...request,
      authorization,
    },
    nowMs,
  );
  if (typeof code === "string") throw new Error("the client or the user is not there");
  return code.text;
}
