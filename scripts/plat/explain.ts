import { UsageError, type Command } from "./command.ts";
import { recordLines } from "./table.ts";
import { clean, toJson } from "./values.ts";

interface Explanation {
  readonly granted: boolean;
  readonly reason: string;
  readonly checks: readonly { readonly check: string; readonly passed: boolean; readonly detail?: string }[];
}

/** Asked by the parameters that have their names. */
const OPTIONS = [
  { flag: "client", value: "<client>", help: "who would ask for the token" },
  { flag: "scope", value: "<scope>", help: "what it would ask for" },
  { flag: "tenant", value: "<tenant>", help: "where; without it the client's own" },
  { flag: "user", value: "<email>", help: "who would be signed in; without it nobody (client_credentials)" },
] as const;

export const explainCommand: Command = {
  words: ["explain"],
  summary: "Whether a client (for a user, in a tenant) would be granted a scope now, and exactly why.",
  args: [],
  options: OPTIONS,
  notes: ["Exit code 0: granted, 1: not granted (or the platform refused the question)."],
  examples: [
    "explain --client acme.shop --scope catalog.view",
    "explain --client acme.web --tenant acmeshop --user ada@acme.example --scope catalog.view",
  ],
  async run({ options, io, client }) {
    const query = new URLSearchParams();
    for (const { flag } of OPTIONS) {
      const value = options.value(flag);
      if (value !== undefined) query.set(flag, value);
    }
    if (!query.has("client") || !query.has("scope"))
      throw new UsageError("explain needs --client <client> and --scope <scope>.");
    const { body } = await (await client()).call<Explanation>("GET", `/explain?${query.toString()}`);
    if (options.has("json")) await io.out(`${toJson(body, 2)}\n`);
    else await io.out(`${explanationLines(body, io.paint).join("\n")}\n`);
    return body.granted ? 0 : 1;
  },
};

function explanationLines(
  { granted, reason, checks, ...rest }: Explanation,
  paint: { green(text: string): string; red(text: string): string; dim(text: string): string },
): string[] {
  const mark = (passed: boolean): string => (passed ? paint.green("✓") : paint.red("✗"));
  return [
    `${mark(granted)} ${granted ? "granted" : "not granted"}: ${clean(reason)}`,
    ...checks.map(
      ({ check, passed, detail = "" }) =>
        `  ${mark(passed)} ${clean(check)}${detail === "" ? "" : paint.dim(`: ${clean(detail)}`)}`,
    ),
    ...recordLines(rest, paint.dim),
  ];
}
