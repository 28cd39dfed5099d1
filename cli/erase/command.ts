import type { Command, Invocation } from "../command-line/command.ts";
import { printRecord, sayDone } from "../command-line/print.ts";
import { stopOnSignal } from "../terminal/stop.ts";
import { clean } from "../terminal/values.ts";
import type { Saying } from "./client-data.ts";
import { eraseTenant } from "./erase.ts";
import { startGuard } from "./guard.ts";
import { makePlan, shownPlan, staysOf, UNSEEN } from "./plan.ts";
import { throwIfStopped } from "./until-stopped.ts";

/** `plat tenant erase <tenant>`. */
export const eraseCommand: Command = {
  words: ["tenant", "erase"],
  summary: "Delete a tenant with its clients, topics, files and everything else that belongs to it.",
  args: [{ name: "tenant", help: "the tenant" }],
  options: [{ flag: "yes", help: "delete; without it, only show the plan" }],
  notes: [
    "A deletion cannot be undone. If the command is stopped or killed, repeat it and it continues. Files become " +
      "unreachable at once; the command ends when their bytes are deleted. Only a client's own token can " +
      "delete its topics and files, so each client gets a temporary secret and stops working. A disabled " +
      "client or tenant is enabled meanwhile. The tenant is disabled again if the command fails, is stopped or killed.",
    "Files of other tenants' clients in this tenant, and files of its clients in other tenants, must be " +
      "deleted by their clients first. A service that is in a package, or has clients of other tenants, " +
      "must be removed from them first. Users, roles, the organization and the audit log stay.",
  ],
  examples: ["tenant erase acmeshop", "tenant erase acmeshop --yes"],
  changes: true,
  async run(invocation) {
    const { args, io, options } = invocation;
    const client = await invocation.client();
    const plan = await makePlan(client, args["tenant"] ?? "");
    if (!options.has("yes")) {
      const { inTheWay, serving } = plan;
      await printRecord(invocation, { ...shownPlan(plan), inTheWay, clientsOfOthers: serving });
      for (const text of [UNSEEN, ...staysOf(plan), "Nothing was changed. Add --yes to delete."]) io.err(`${text}\n`);
      return;
    }
    const stop = stopOnSignal(() => io.err("Stopping; the call under way is brought to its end.\n"));
    const { tenant, clients, inTheWay } = plan;
    const isOpened = tenant.disabled && clients.length > 0 && inTheWay.length === 0;
    const guard = isOpened ? startGuard(invocation, tenant.id) : undefined;
    const gone = await eraseTenant(client, plan, sayingOf(invocation, stop.signal), stop.signal).finally(stop.end);
    guard?.end();
    for (const text of staysOf({ ...plan, serving: [] })) io.err(`${text}\n`);
    await printRecord(invocation, { ...shownPlan(plan), ...gone });
  },
};

function sayingOf({ io }: Invocation, stopping: AbortSignal): Saying {
  const stopped = new Promise<void>((done) => stopping.addEventListener("abort", () => done(), { once: true }));
  return {
    done: (text) => sayDone(io, text),
    waiting: (text) => io.err(`${io.paintErr.yellow("…")} ${clean(text)}\n`),
    async wait(ms) {
      await Promise.race([io.wait(ms), stopped]);
      throwIfStopped(stopping);
    },
  };
}
