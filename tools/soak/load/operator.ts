import { expectStatus, type Operation, type Stage, type Turn } from "./operation.ts";

const ROLES = 20;
const ANY = 1_000_000_000;

/** Changes by the operator while other operations depend on them: roles, a tenant, its subscription. */
export function operatorLoad(stage: Stage): Operation[] {
  const { world, caller, changes } = stage;
  const tenant = `${world.run}d`;

  const change = async ({ dueMs, random }: Turn, method: "PUT" | "DELETE", subject: string, json?: unknown) => {
    const headers = { authorization: await world.authorization("operator") };
    const ask = { kind: `operator: ${method}`, method, path: `/admin/v1/${subject}`, headers, json, dueMs };
    const reply = await caller.once(ask, random);
    if (reply === undefined) return changes.unknown(subject);
    if (!expectStatus(stage, `${method} ${subject}`, reply, method === "PUT" ? [200, 201] : [204, 404])) return;
    const requestId = reply.headers[`${world.platform}-request-id`];
    // Subscribing twice, or deleting nothing, is no change.
    const isNothing = reply.status === 404 || (reply.status === 200 && subject.includes("/subscriptions/"));
    if (!isNothing) changes.done.set(String(requestId), subject);
  };
  const role = ({ random }: Turn): string => `roles/${world.run}-${random.below(ROLES)}`;
  // Always a new value, because an unchanged record has no audit row.
  const named = ({ random }: Turn): object => ({ organization: world.run, name: `Soak ${random.below(ANY)}` });
  const scopesOf = ({ random }: Turn): object => ({
    scopes: [`${world.platform}.media_view`, `${world.platform}.pubsub.topic=soak.s${random.below(ANY)}`],
  });

  return [
    { weight: 3, run: (turn) => change(turn, "PUT", role(turn), scopesOf(turn)) },
    { weight: 2, run: (turn) => change(turn, "DELETE", role(turn)) },
    { weight: 1, run: (turn) => change(turn, "PUT", `tenants/${tenant}`, named(turn)) },
    {
      weight: 1,
      isReady: () => [...changes.done.values()].includes(`tenants/${tenant}`),
      run: (turn) =>
        turn.random.chance(0.5)
          ? change(turn, "PUT", `tenants/${tenant}/subscriptions/platform`, {})
          : change(turn, "DELETE", `tenants/${tenant}/subscriptions/platform`),
    },
  ];
}
