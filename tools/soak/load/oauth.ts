import { GuessesLedger } from "../ledgers/guesses.ts";
import type { SoakToken } from "../ledgers/tokens.ts";
import { expectStatus, type Operation, type Stage, type Turn } from "./operation.ts";

/** Only the newest tokens are questioned during the load; the final check looks at all. */
const LATELY = 200;
/** Time for which one account is guessed at; shorter than a count or a block lasts. */
const GUESSED_MS = 10 * 60_000;

/** Issues tokens by three grants, questions and revokes them; and guesses passwords. */
export function oauthLoad(stage: Stage): Operation[] {
  const { world, caller, tokens, violations } = stage;
  const post = (kind: string, path: string, owner: SoakToken["owner"], form: Record<string, string>) => ({
    kind: `oauth: ${kind}`,
    method: "POST",
    path: `/oauth2/v1/${path}`,
    headers: { authorization: world.credentials[owner] },
    form,
  });

  const get = async (turn: Turn, owner: SoakToken["owner"], grant: string, form: Record<string, string>) => {
    const ask = { ...post(`token by ${grant}`, "token", owner, { grant_type: grant, ...form }), dueMs: turn.dueMs };
    const reply = await caller.once(ask, turn.random);
    if (reply === undefined || !expectStatus(stage, `token by ${grant}`, reply, [200])) return;
    tokens.all.push({ text: reply.body.access_token, grant, owner, state: "valid" });
  };
  const some = ({ random }: Turn): SoakToken => random.pick(tokens.all.slice(-LATELY));

  const look = async (turn: Turn): Promise<void> => {
    const token = some(turn);
    const before = token.state;
    const isIntrospection = turn.random.chance(0.5);
    const ask = isIntrospection
      ? post("introspect", "introspect", token.owner, { token: token.text })
      : { kind: "oauth: tokeninfo", method: "GET", path: `/oauth2/v1/tokeninfo?access_token=${token.text}` };
    const reply = await caller.once({ ...ask, dueMs: turn.dueMs }, turn.random);
    if (reply === undefined || !expectStatus(stage, ask.kind, reply, isIntrospection ? [200] : [200, 400])) return;
    const isActive = isIntrospection ? reply.body.active === true : reply.status === 200;
    const detail = (): string => `${token.grant}, ${ask.kind}: ${reply.status}`;
    violations.expect("a revoked token is refused", before !== "revoked" || !isActive, detail);
    violations.expect("a valid token is taken", token.state !== "valid" || isActive, detail);
  };

  const revoke = async (turn: Turn): Promise<void> => {
    const token = turn.random.pick(tokens.valid().slice(-LATELY));
    // Revoking a refreshed token would end its family, and the refresh token with it.
    if (token.grant === "refresh_token") return look(turn);
    token.state = "ending";
    const ask = { ...post("revoke", "revoke", token.owner, { token: token.text }), dueMs: turn.dueMs };
    const reply = await caller.insist(ask, turn.random);
    if (reply !== undefined && expectStatus(stage, "revoke", reply, [200])) token.state = "revoked";
  };

  const { email: username, password } = world.user;
  const own = { [`${world.platform}_id_provider`]: "legacy_idp" };
  const signIn = { username, password, ...own };

  const guesses = new Map<string, GuessesLedger>();
  /** Guesses at an account that does not exist, which counts like any other. */
  const guess = async ({ dueMs, random }: Turn): Promise<void> => {
    const account = `${world.run}-${Math.floor(performance.now() / GUESSED_MS)}@soak.example`;
    const ledger = guesses.get(account) ?? new GuessesLedger(violations);
    guesses.set(account, ledger);
    const form = { grant_type: "password", username: account, password: "a guess", ...own };
    const sentMs = performance.now();
    ledger.sent(sentMs);
    const reply = await caller.once({ ...post("wrong password", "token", "app", form), dueMs }, random);
    if (reply === undefined || !expectStatus(stage, "a wrong password", reply, [400])) return;
    if (/too many/.test(reply.body.error_description)) ledger.blocked(reply.answeredMs);
    else ledger.wrong(sentMs);
  };

  return [
    { weight: 8, run: (turn) => get(turn, "shop", "client_credentials", {}) },
    { weight: 3, run: (turn) => get(turn, "app", "refresh_token", { refresh_token: world.refreshToken }) },
    // Hashing a password costs some 100 ms of processor time.
    { weight: 0.5, run: (turn) => get(turn, "app", "password", signIn) },
    { weight: 1, run: guess },
    { weight: 12, isReady: () => tokens.all.length > 0, run: look },
    { weight: 3, isReady: () => tokens.valid().length > 0, run: revoke },
  ];
}
