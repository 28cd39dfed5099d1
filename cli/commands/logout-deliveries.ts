import { readChoice } from "../terminal/values.ts";
import { changeCommand, pagedListCommand } from "../command-line/patterns.ts";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import type { Column } from "../terminal/table.ts";

const COLUMNS: readonly Column<api.LogoutDelivery>[] = [
  "id",
  "user",
  "state",
  "attempts",
  "createdAt",
  { field: "nextAttemptAt", title: "NEXT" },
];
const CLIENT = { name: "client", help: "the client's id" };

/** Logout tokens that were not delivered: they are still being sent, or were given up. */
export const logoutDeliveryCommands = (): Command[] => [
  pagedListCommand({
    words: ["client", "logouts"],
    summary: "List the logout tokens that a client has still to get, or never got.",
    args: [CLIENT],
    options: [{ flag: "state", value: "<state>", help: "pending or dead; default: both" }],
    examples: ["client logouts acme.shop --state dead"],
    columns: COLUMNS,
    nouns: "logout tokens",
    rows({ args: { client = "" }, options }) {
      const state = readChoice(options.value("state"), "--state", ["pending", "dead"]);
      return ({ opts }, page) => rowsOf((query) => api.listLogoutDeliveries(client, query, opts), { state, ...page });
    },
  }),
  changeCommand({
    words: ["client", "redeliver-logouts"],
    summary: "Send the logout tokens again that a client never got.",
    args: [CLIENT],
    notes: ["Fix the client's address first: the schedule begins anew. At most 500 a call."],
    examples: ["client redeliver-logouts acme.shop"],
    send: ({ opts }, id = "") => ok(api.redeliverLogouts(id, opts)),
    done: ({ redelivered }, id) => `${redelivered} logout tokens are sent to ${id} again, within five minutes.`,
  }),
];
