import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import { LIST_OPTIONS, printRows, readBounds } from "../command-line/listing.ts";
import { confirm, sayDone, YES_OPTION } from "../command-line/print.ts";
import type { Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean } from "../terminal/values.ts";

const COLUMNS: readonly Column<api.UnregisteredClient>[] = [
  { field: "clientId", title: "ID" },
  { field: "kind", title: "KIND" },
  { field: "name", title: "NAME" },
  { field: "people", title: "PEOPLE" },
  { field: "usedAt", title: "USED", kind: "time" },
];
const KINDS = ["document", "registered"] as const;

/** Clients that nobody registered, such as agents. */
export const unregisteredClientCommands = (): Command[] => [
  {
    words: ["unregistered-client", "list"],
    summary: "List the clients that nobody registered, such as agents.",
    args: [],
    options: [{ flag: "kind", value: "<kind>", help: "document or registered; default: both" }, ...LIST_OPTIONS],
    notes: ["What they say about themselves has been checked by nobody."],
    examples: ["unregistered-client list --kind document"],
    async run({ options, io, client }) {
      const { limit, pageSize } = readBounds(options);
      const wish = options.value("kind");
      const kind = KINDS.find((one) => one === wish);
      if (kind !== wish) throw new UsageError(`--kind takes document or registered, not ${wish}.`);
      const { opts } = await client();
      const rows = rowsOf((query) => api.listUnregisteredClients(query, opts), { kind, pageSize });
      await printRows(rows, { io, asJson: options.has("json"), columns: COLUMNS, limit, nouns: "clients" });
    },
  },
  {
    words: ["unregistered-client", "delete"],
    summary: "Remove a client that nobody registered, with every token and grant that it has.",
    args: [{ name: "id", help: "its id, as in the list" }],
    options: [YES_OPTION],
    notes: [
      "One that a document describes comes again as soon as a person allows it again. UNREGISTERED_CLIENTS=none of the " +
        "deployment turns all of them off.",
    ],
    examples: ["unregistered-client delete https://agent.example/client.json"],
    changes: true,
    async run(invocation) {
      const { id = "" } = invocation.args;
      await confirm(invocation, `Remove ${clean(id)}, and end what people allowed it?`);
      await api.removeUnregisteredClient(id, (await invocation.client()).opts);
      sayDone(invocation.io, `${clean(id)} has no token and no grant any more.`);
    },
  },
];
