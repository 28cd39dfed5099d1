import { expect } from "vitest";
import { plat } from "./plat-command.ts";

type Env = Readonly<Record<string, string>>;

/** What the operator's lists show, and how much the bucket and the tables of media hold. */
export async function listEverything(env: Env): Promise<Record<string, unknown>> {
  const list = async (line: string): Promise<any> => {
    const result = await plat(env, [...line.split(" "), "--json"]);
    expect(result.code, `${line}\n${result.err}`).toBe(0);
    return result.json();
  };
  const all: Record<string, unknown> = {};
  for (const word of ["organization", "tenant", "user", "role", "client", "service", "package", "identity-provider"])
    all[word] = await list(`${word} list`);
  for (const { id } of all["tenant"] as { id: string }[])
    for (const verb of ["subscriptions", "members", "usage"]) all[`${id} ${verb}`] = await list(`tenant ${verb} ${id}`);
  for (const { id } of all["organization"] as { id: string }[])
    all[`members of ${id}`] = await list(`organization members ${id}`);
  const { checked, found } = await list("media-consistency start --wait");
  return { ...all, checked, found };
}

/** Every topic of the platform, as a client sees them that may read all. */
export async function listTopics(base: string, token: string): Promise<readonly string[]> {
  const answer = await fetch(`${base}/pubsub/v1/topics?pageSize=1000`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
  const topics = (await answer.json()) as { topicOwnerClient: string; eventType: string }[];
  return topics.map(({ topicOwnerClient, eventType }) => `${topicOwnerClient}/${eventType}`);
}
