import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { LIST_OPTIONS, printRows, readBounds } from "../command-line/listing.ts";
import type { Column } from "../terminal/table.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { clean } from "../terminal/values.ts";

const COLUMNS: readonly Column<api.OperatedSubscription>[] = [
  { field: "id", title: "ID" },
  { field: "topic", title: "TOPIC" },
  { field: "client", title: "CLIENT" },
  { field: "name", title: "NAME" },
  { field: "endpointOrigin", title: "ENDPOINT" },
  { field: "state", title: "STATE" },
  { field: "halt", title: "HALT" },
  { field: "right", title: "RIGHT" },
  { field: "createdAt", title: "CREATED", kind: "time" },
];
const ID = { name: "id", help: "of the subscription, as in the list" };

/** Push subscriptions of all clients. The operator lists and removes them; clients make and change them. */
export const pushSubscriptionCommands = (): Command[] => [
  {
    words: ["push-subscription", "list"],
    summary: "List the push subscriptions of all clients.",
    args: [],
    options: [
      { flag: "client", value: "<client>", help: "only those of this client" },
      { flag: "topic", value: "<owner>.<eventType>", help: "only those of this topic" },
      { flag: "maker", value: "<unknown>", help: "only those whose maker is unknown" },
      ...LIST_OPTIONS,
    ],
    examples: ["push-subscription list --client acme.shop", "push-subscription list --maker unknown --json"],
    async run({ options, io, client }) {
      const { limit, pageSize } = readBounds(options);
      const maker = options.value("maker");
      if (maker !== undefined && maker !== "unknown") throw new UsageError(`--maker takes unknown, not ${maker}.`);
      const filters = { client: options.value("client"), topic: options.value("topic"), maker } as const;
      const { opts } = await client();
      const rows = rowsOf((query) => api.listOperatedSubscriptions(query, opts), { ...filters, pageSize });
      await printRows(rows, { io, asJson: options.has("json"), columns: COLUMNS, limit, nouns: "push subscriptions" });
    },
  },
  {
    words: ["push-subscription", "show"],
    summary: "Show a push subscription and its maker.",
    args: [ID],
    options: [],
    examples: ["push-subscription show 8f14e45f…"],
    async run(invocation) {
      const { opts } = await invocation.client();
      await printRecord(invocation, await ok(api.getOperatedSubscription(invocation.args["id"] ?? "", opts)));
    },
  },
  {
    words: ["push-subscription", "delete"],
    summary: "Remove a push subscription. Nothing more is sent to its endpoint.",
    args: [ID],
    options: [YES_OPTION],
    notes: [
      "Its client can make it again while it has the right. To prevent that, remove the scope or disable " +
        "the client.",
    ],
    examples: ["push-subscription delete 8f14e45f…"],
    changes: true,
    async run(invocation) {
      const id = invocation.args["id"] ?? "";
      await confirm(invocation, `Remove the push subscription ${clean(id)}, with what it has not delivered?`);
      const { opts } = await invocation.client();
      await api.removeOperatedSubscription(id, opts);
      sayDone(invocation.io, `The push subscription ${clean(id)} is removed.`);
    },
  },
];
