import { readChoice } from "../terminal/values.ts";
import { changeCommand, pagedListCommand, showCommand } from "../command-line/patterns.ts";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import type { Column } from "../terminal/table.ts";

const COLUMNS: readonly Column<api.OperatedSubscription>[] = [
  "id",
  "topic",
  "client",
  "name",
  { field: "endpointOrigin", title: "ENDPOINT" },
  "state",
  "halt",
  "right",
  "createdAt",
];
const ID = { name: "id", help: "of the subscription, as in the list" };

/** Push subscriptions of all clients. The operator lists and removes them; clients make and change them. */
export const pushSubscriptionCommands = (): Command[] => [
  pagedListCommand({
    words: ["push-subscription", "list"],
    summary: "List the push subscriptions of all clients.",
    options: [
      { flag: "client", value: "<client>", help: "only those of this client" },
      { flag: "topic", value: "<owner>.<eventType>", help: "only those of this topic" },
      { flag: "maker", value: "<unknown>", help: "only those whose maker is unknown" },
    ],
    examples: ["push-subscription list --client acme.shop", "push-subscription list --maker unknown --json"],
    columns: COLUMNS,
    nouns: "push subscriptions",
    rows({ options }) {
      const maker = readChoice(options.value("maker"), "--maker", ["unknown"]);
      const filters = { client: options.value("client"), topic: options.value("topic"), maker };
      return ({ opts }, page) => rowsOf((query) => api.listOperatedSubscriptions(query, opts), { ...filters, ...page });
    },
  }),
  showCommand({
    words: ["push-subscription", "show"],
    summary: "Show a push subscription and its maker.",
    args: [ID],
    examples: ["push-subscription show 8f14e45f…"],
    read: ({ opts }, id = "") => ok(api.getOperatedSubscription(id, opts)),
  }),
  changeCommand({
    words: ["push-subscription", "delete"],
    summary: "Remove a push subscription. Nothing more is sent to its endpoint.",
    args: [ID],
    notes: [
      "Its client can make it again while it has the right. To prevent that, remove the scope or disable " +
        "the client.",
    ],
    examples: ["push-subscription delete 8f14e45f…"],
    ask: (id) => `Remove the push subscription ${id}, with what it has not delivered?`,
    send: ({ opts }, id) => api.removeOperatedSubscription(id, opts),
    done: (_, id) => `The push subscription ${id} is removed.`,
  }),
];
