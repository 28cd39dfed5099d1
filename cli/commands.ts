import { initCommand } from "./app/init.ts";
import { actionCommands } from "./commands/actions.ts";
import { applyCommand } from "./apply/command.ts";
import { auditCommand } from "./commands/audit.ts";
import { auditCopyCommands } from "./commands/audit-copies.ts";
import { backupCommands } from "./commands/backups.ts";
import type { Command } from "./command-line/command.ts";
import { completionCommand } from "./completion/command.ts";
import { listenCommands } from "./listen/commands.ts";
import { openCommand } from "./session/open-command.ts";
import { consistencyCommands } from "./commands/consistency.ts";
import { eraseCommand } from "./erase/command.ts";
import { explainCommand } from "./commands/explain.ts";
import { invitationCommands } from "./commands/invitations.ts";
import { logoutDeliveryCommands } from "./commands/logout-deliveries.ts";
import { metricsCommand } from "./commands/metrics.ts";
import { healthCommand } from "./commands/health.ts";
import { pushSubscriptionCommands } from "./commands/push-subscriptions.ts";
import { resourceCommands } from "./commands/resource-commands.ts";
import { platformCheckCommands } from "./commands/platform-check.ts";
import { restorePointCommands } from "./commands/restore-point.ts";
import { RESOURCES } from "./resources/all.ts";
import { unregisteredClientCommands } from "./commands/unregistered-clients.ts";
import { sessionCommands } from "./session/commands.ts";
import { fileCommands } from "./data/file-commands.ts";
import { shardCommands } from "./shards/commands.ts";
import { topicCommands } from "./data/topic-commands.ts";

/** Every command, grouped by resource, in the order in which a platform is set up. */
export function allCommands(): readonly Command[] {
  const commands = [
    ...sessionCommands(),
    initCommand,
    ...topicCommands(),
    ...fileCommands(),
    ...listenCommands(),
    openCommand,
    ...resourceCommands(),
    ...actionCommands(),
    ...logoutDeliveryCommands(),
    ...unregisteredClientCommands(),
    ...invitationCommands(),
    eraseCommand,
    ...consistencyCommands(),
    ...shardCommands(),
    ...pushSubscriptionCommands(),
    auditCommand,
    ...auditCopyCommands(),
    ...backupCommands(),
    ...restorePointCommands(),
    ...platformCheckCommands(),
    explainCommand,
    metricsCommand,
    healthCommand,
    applyCommand,
    completionCommand,
  ];
  const words = [...new Set(commands.map(({ words: [word] }) => word))];
  return words.flatMap((word) => commands.filter(({ words: [one] }) => one === word));
}

/** A line of help for each first word. */
export const SUMMARIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.values(RESOURCES)
      .toReversed()
      .map(({ word, summary }) => [word, summary]),
  ),
  tenant: "customers with separate data: clients act in a tenant, users are its members",
  organization: "companies that own tenants and packages",
  topic: "channels of events: publish, look, read again",
  file: "files of your application: store, fetch, find, delete",
  session: "sessions of people and of services",
  "unregistered-client": "clients that nobody registered, such as agents",
  audit: "changes and refusals, and the log's copies in the bucket",
  shard: "the databases and objects with files and sign-ins: how full they are, one more",
  "push-subscription": "endpoints that receive events",
  "seal-key": "keys that encrypt stored secrets",
  "signing-key": "keys that sign tokens",
  platform: "backups of everything, the way back, and what follows a restore",
  "media-consistency": "comparisons of the media bucket with the database, and repairs",
};
