import { UserError } from "../../scripts/lib/user-error.ts";
import type { Answer, Ask } from "./reach.ts";

interface Operator {
  readonly prefix: string;
  readonly platform: string;
  /** Secrets to try, in this order: a Worker may have an earlier one. */
  readonly secrets: readonly string[];
}

/** Gets a token of the operator client. */
export async function operatorToken(ask: Ask, { prefix, platform, secrets }: Operator): Promise<string> {
  for (const [at, secret] of secrets.entries()) {
    const basic = Buffer.from(`${platform}.operator:${encodeURIComponent(secret)}`).toString("base64");
    const answer = await ask(`${prefix}/oauth2/v1/token`, {
      method: "POST",
      headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials",
    });
    if (answer.status === 401 && at < secrets.length - 1) continue;
    return (JSON.parse(done(answer, "the token endpoint").body) as { access_token: string }).access_token;
  }
  throw new UserError("OPERATOR_CLIENT_SECRET is not known here");
}

export function done(answer: Answer, what: string): Answer {
  if (answer.status >= 300) throw new UserError(`${what} answers ${answer.status}: ${answer.body.slice(0, 300)}`);
  return answer;
}
