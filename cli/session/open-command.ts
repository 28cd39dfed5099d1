import { UserError } from "../../scripts/lib/user-error.ts";
import type { Command } from "../command-line/command.ts";
import { printRecord } from "../command-line/print.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { readLinks } from "./discover.ts";
import { openBrowser } from "./open-browser.ts";

/** Pages of the platform, and the link that its own address names them by. */
const PAGES: Readonly<Record<string, string>> = {
  console: "console",
  docs: "documentation",
  account: "account",
  errors: "errors",
};

export const openCommand: Command = {
  words: ["open"],
  summary: "Open a page of the platform in the browser: console, docs, account or errors.",
  args: [{ name: "page", help: `${Object.keys(PAGES).join(", ")}; default: docs`, optional: true }],
  options: [],
  notes: ["The address is also the output, so this works without a browser."],
  examples: ["open", "open account"],
  async run({ args, io, base, options }) {
    const page = args["page"] ?? "docs";
    const name = Object.hasOwn(PAGES, page) ? PAGES[page] : undefined;
    if (name === undefined) throw new UsageError(`There is no page ${page}: ${Object.keys(PAGES).join(", ")}.`);
    const address = (await readLinks(base))[name];
    if (address === undefined) throw new UserError(`${base} has no ${page}.`);
    if (options.has("json")) await printRecord({ io, options }, { url: address });
    else await io.out(`${address}\n`);
    await openBrowser(address, io.env);
  },
};
