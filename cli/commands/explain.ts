import * as api from "../../api/plinth.ts";
import { ok } from "@oazapfts/runtime";
import type { Paint } from "../../scripts/lib/terminal.ts";
import type { Command, Option } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, toJson } from "../terminal/values.ts";

type Question = NonNullable<Parameters<typeof api.explain>[0]>;

/** The flags have the names of the query parameters. */
const OPTIONS: readonly (Option & { readonly flag: keyof Question })[] = [
  { flag: "client", value: "<client>", help: "the client that requests the token; default: the user, by password" },
  { flag: "user", value: "<email>", help: "the user who signs in; default: the client acts for itself" },
  { flag: "tenant", value: "<tenant>", help: "the tenant; default: that of a request without one" },
  { flag: "scope", value: "<scope>", repeated: true, help: "a requested scope; default: all that are possible" },
  {
    flag: "grant",
    value: "<grant>",
    help: "client_credentials, authorization_code, implicit or password; default: the client's first",
  },
];

export const explainCommand: Command = {
  words: ["explain"],
  summary: "Explain whether a client, a user or both would get scopes now, and why.",
  args: [],
  options: OPTIONS,
  notes: [
    "It applies the rules of /token to the current records and issues nothing. Exit code 0: granted, 1: " +
      "not granted, or the platform refused the question.",
  ],
  examples: [
    "explain --client acme.shop --scope catalog.view",
    "explain --client acme.web --tenant acmeshop --user ada@acme.example --scope catalog.view",
  ],
  async run({ options, io, client }) {
    const given = OPTIONS.filter(({ flag }) => options.has(flag));
    const question: Question = Object.fromEntries(given.map(({ flag }) => [flag, options.values(flag).join(" ")]));
    if (question.client === undefined && question.user === undefined)
      throw new UsageError("explain needs --client <client> or --user <email>, or both.");
    const answer = await ok(api.explain(question, (await client()).opts));
    await io.out(options.has("json") ? `${toJson(answer, 2)}\n` : `${explanationLines(answer, io.paint).join("\n")}\n`);
    return answer.granted ? 0 : 1;
  },
};

function explanationLines({ granted, reason, checks, effective }: api.Explanation, paint: Paint): string[] {
  const mark = (passed: boolean): string => (passed ? paint.green("✓") : paint.red("✗"));
  const names = checks.map(({ check, scope }) => clean(scope === undefined ? check : `${scope} (${check})`));
  const width = Math.max(0, ...names.map((name) => name.length));
  return [
    `${mark(granted)} ${paint.bold(granted ? "granted" : "not granted")}: ${clean(reason.replace(/^granted: /, ""))}`,
    ...checks.map(({ passed, detail }, index) =>
      `  ${mark(passed)} ${(names[index] ?? "").padEnd(width)}  ${paint.dim(clean(detail))}`.trimEnd(),
    ),
    ...(effective.length === 0 ? [] : [`  a token would have: ${effective.map(clean).join(" ")}`]),
  ];
}
