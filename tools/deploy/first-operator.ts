import { OPERATORS, putOperators } from "../../scripts/lib/local/operators.ts";
import type { Deployment } from "./deployment.ts";
import { done, operatorToken } from "./operator.ts";
import type { Answer, Ask } from "./reach.ts";

/**
 * Invites the first person who operates a platform, by a link that works once, for a day, and asks for a password.
 *
 *   no such member ── each deployment prints a link, which voids the one before ──▶ a member, once it is used
 *   a member ── nothing happens
 *
 * The console's records (client, roles, organization) are made with the first link and never changed afterwards.
 */
interface First {
  readonly ask: Ask;
  readonly deployment: Pick<Deployment, "name" | "operator" | "publicUrl" | "vars">;
  readonly operatorSecret: string | undefined;
  readonly say: (line: string) => void;
}

const ORGANIZATION = `organizations/${OPERATORS.organization}`;

export async function firstOperator({ ask, deployment, operatorSecret, say }: First): Promise<void> {
  const { name, operator, publicUrl, vars } = deployment;
  const { PATH_PREFIX: prefix = "", PLATFORM: platform = "plat" } = vars;
  const place = `${publicUrl}${prefix}/console`;
  if (operator === undefined) {
    const how = `operator = "ada@example.com"`;
    return say(`Its console is ${place}. A first operator gets a link: ${how} in deploy/${name}.toml, then deploy.`);
  }
  if (operatorSecret === undefined)
    return say(`No link for ${operator} was made: OPERATOR_CLIENT_SECRET is not known here.`);

  const token = await operatorToken(ask, { prefix, platform, secrets: [operatorSecret] });
  const send = async (method: string, path: string, body?: unknown): Promise<Answer> =>
    ask(`${prefix}/admin/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const isThere = async (path: string): Promise<boolean> => {
    const answer = await send("GET", path);
    // Any other failure says nothing. Records that are there would be written again.
    return answer.status !== 404 && done(answer, path).status === 200;
  };
  const put = async (path: string, body: unknown): Promise<void> => void done(await send("PUT", path, body), path);

  if (await isThere(`${ORGANIZATION}/members/${operator}`)) return say(`${operator} operates it at ${place}.`);
  if (!(await isThere(`clients/${OPERATORS.client}`)))
    await putOperators(put, { platform, consoles: [place], exits: [place] });
  const path = `${ORGANIZATION}/invitations/${operator}/link`;
  const { link } = JSON.parse(done(await send("POST", path, { roles: [OPERATORS.role] }), path).body) as {
    link: string;
  };
  // As a member of the console's tenant, the operator is not asked to consent to the console.
  await put(`tenants/${OPERATORS.tenant}/members/${operator}`, { roles: [] });
  say(`\n${operator} becomes its first operator by this link. It works once, for a day, and asks for a password:`);
  say(`\n  ${link}\n\nThen sign in at ${place}, for the organization "${OPERATORS.organization}".`);
}
