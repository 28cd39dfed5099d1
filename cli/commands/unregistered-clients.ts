import { readChoice } from "../terminal/values.ts";
import { changeCommand, pagedListCommand } from "../command-line/patterns.ts";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import type { Column } from "../terminal/table.ts";

const COLUMNS: readonly Column<api.UnregisteredClient>[] = [
  { field: "clientId", title: "ID" },
  "kind",
  "name",
  "people",
  "usedAt",
];

/** Clients that nobody registered, such as agents. */
export const unregisteredClientCommands = (): Command[] => [
  pagedListCommand({
    words: ["unregistered-client", "list"],
    summary: "List the clients that nobody registered, such as agents.",
    options: [{ flag: "kind", value: "<kind>", help: "document or registered; default: both" }],
    notes: ["What they say about themselves has been checked by nobody."],
    examples: ["unregistered-client list --kind document"],
    columns: COLUMNS,
    nouns: "clients",
    rows({ options }) {
      const kind = readChoice(options.value("kind"), "--kind", ["document", "registered"]);
      return ({ opts }, page) => rowsOf((query) => api.listUnregisteredClients(query, opts), { kind, ...page });
    },
  }),
  changeCommand({
    words: ["unregistered-client", "delete"],
    summary: "Remove a client that nobody registered, with every token and grant that it has.",
    args: [{ name: "id", help: "its id, as in the list" }],
    notes: [
      "One that a document describes comes again as soon as a person allows it again. UNREGISTERED_CLIENTS=none of the " +
        "deployment turns all of them off.",
    ],
    examples: ["unregistered-client delete https://agent.example/client.json"],
    ask: (id) => `Remove ${id}, and end what people allowed it?`,
    send: ({ opts }, id) => api.removeUnregisteredClient(id, opts),
    done: (_, id) => `${id} has no token and no grant any more.`,
  }),
];
