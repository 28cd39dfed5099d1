import { actionCommands } from "./commands/actions.ts";
import { applyCommand } from "./apply/command.ts";
import { auditCommand } from "./commands/audit.ts";
import { auditCopyCommands } from "./commands/audit-copies.ts";
import type { Command } from "./command-line/command.ts";
import { consistencyCommands } from "./commands/consistency.ts";
import { eraseCommand } from "./erase/command.ts";
import { explainCommand } from "./commands/explain.ts";
import { healthCommand } from "./commands/health.ts";
import { pushSubscriptionCommands } from "./commands/push-subscriptions.ts";
import { resourceCommands } from "./commands/resource-commands.ts";
import { RESOURCES } from "./resources/all.ts";

/** Every command, grouped by resource, in the order in which a platform is set up. */
export function allCommands(): readonly Command[] {
  const commands = [
    ...resourceCommands(),
    ...actionCommands(),
    eraseCommand,
    ...consistencyCommands(),
    ...pushSubscriptionCommands(),
    auditCommand,
    ...auditCopyCommands(),
    explainCommand,
    healthCommand,
    applyCommand,
  ];
  const words = [...new Set(commands.map(({ words: [word] }) => word))];
  return words.flatMap((word) => commands.filter(({ words: [one] }) => one === word));
}

/** One line about each first word. */
export const SUMMARIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.values(RESOURCES)
      .toReversed()
      .map(({ word, summary }) => [word, summary]),
  ),
  tenant: "whose data stays apart: clients act in a tenant, users are its members",
  organization: "companies: tenants and packages belong to one",
  session: "what began with one sign-in, or with one call of a service",
  audit: "who did what, and copies of it in the bucket",
  "push-subscription": "whose endpoints get the events of which topic",
  "seal-key": "keys that secrets are sealed with",
  "signing-key": "keys that tokens are signed with",
  "media-consistency": "comparisons of the bucket with the database, and their repair",
};
