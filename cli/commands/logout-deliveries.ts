import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import { LIST_OPTIONS, printRows, readBounds } from "../command-line/listing.ts";
import { sayDone } from "../command-line/print.ts";
import type { Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean } from "../terminal/values.ts";

const COLUMNS: readonly Column<api.LogoutDelivery>[] = [
  { field: "id", title: "ID" },
  { field: "user", title: "USER" },
  { field: "state", title: "STATE" },
  { field: "attempts", title: "ATTEMPTS" },
  { field: "createdAt", title: "CREATED", kind: "time" },
  { field: "nextAttemptAt", title: "NEXT", kind: "time" },
];
const STATES = ["pending", "dead"] as const;
const CLIENT = { name: "client", help: "the client's id" };

/** Logout tokens that were not delivered: they are still being sent, or were given up. */
export const logoutDeliveryCommands = (): Command[] => [
  {
    words: ["client", "logouts"],
    summary: "List the logout tokens that a client has still to get, or never got.",
    args: [CLIENT],
    options: [{ flag: "state", value: "<state>", help: "pending or dead; default: both" }, ...LIST_OPTIONS],
    examples: ["client logouts acme.shop --state dead"],
    async run({ args: { client: id = "" }, options, io, client }) {
      const { limit, pageSize } = readBounds(options);
      const wish = options.value("state");
      const state = STATES.find((one) => one === wish);
      if (state !== wish) throw new UsageError(`--state takes pending or dead, not ${wish}.`);
      const { opts } = await client();
      const rows = rowsOf((query) => api.listLogoutDeliveries(id, query, opts), { state, pageSize });
      await printRows(rows, { io, asJson: options.has("json"), columns: COLUMNS, limit, nouns: "logout tokens" });
    },
  },
  {
    words: ["client", "redeliver-logouts"],
    summary: "Send the logout tokens again that a client never got.",
    args: [CLIENT],
    options: [],
    notes: ["Mend the client's address first: the schedule begins anew. At most 500 a call."],
    examples: ["client redeliver-logouts acme.shop"],
    changes: true,
    async run({ args: { client: id = "" }, io, client }) {
      const { redelivered } = await ok(api.redeliverLogouts(id, (await client()).opts));
      sayDone(io, `${redelivered} logout tokens are sent to ${clean(id)} again, within five minutes.`);
    },
  },
];
