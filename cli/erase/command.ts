import type { Command, Invocation } from "../command-line/command.ts";
import { printRecord, sayDone } from "../command-line/print.ts";
import { clean } from "../terminal/values.ts";
import type { Saying } from "./client-data.ts";
import { eraseTenant } from "./erase.ts";
import { makePlan, shownPlan, staysOf, UNSEEN } from "./plan.ts";

/** `plat tenant erase <tenant>`. */
export const eraseCommand: Command = {
  words: ["tenant", "erase"],
  summary: "Remove a tenant with its clients, topics, files and everything else that is its own.",
  args: [{ name: "tenant", help: "the tenant" }],
  options: [{ flag: "yes", help: "do it; without it, say what would go and change nothing" }],
  notes: [
    "What goes cannot be had back. Stopped at any point, it goes on where it was when it is repeated; files are out of reach at " +
      "once, and it ends when their bytes are deleted. It works by the clients' own tokens, since the operator's deletes no " +
      "topics and files: each client gets a secret that nobody sees, so it does not work from then on. A disabled client or " +
      "tenant is enabled for so long.",
    "What it cannot do: files that clients of other tenants have in this one, and files that its clients have in others, have " +
      "to be deleted by their clients first. A service that is in a package, or has clients of other tenants, has to be " +
      "taken out first. Users, roles, the organization and the audit log stay.",
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
      for (const text of [UNSEEN, ...staysOf(plan), "Nothing was changed: --yes does it."]) io.err(`${text}\n`);
      return;
    }
    const gone = await eraseTenant(client, plan, sayingOf(invocation));
    for (const text of staysOf({ ...plan, serving: [] })) io.err(`${text}\n`);
    await printRecord(invocation, { ...shownPlan(plan), ...gone });
  },
};

const sayingOf = ({ io }: Invocation): Saying => ({
  done: (text) => sayDone(io, text),
  waiting: (text) => io.err(`${io.paintErr.yellow("…")} ${clean(text)}\n`),
  wait: (ms) => io.wait(ms),
});
