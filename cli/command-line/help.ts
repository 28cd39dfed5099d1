import type { Command, Option } from "./command.ts";
import { GLOBAL_OPTIONS } from "./parse.ts";

const LINE = 100;
export const PROGRAM = "npm run plat --";

/** What `--help` says: of everything, of a resource, of one command. */
export function overview(commands: readonly Command[], summaries: Readonly<Record<string, string>>): string {
  const words = [...new Set(commands.map(({ words: [one = ""] }) => one))];
  const rows = words.map((word) => {
    const verbs = commands.filter(({ words: [one] }) => one === word).flatMap(({ words: [, verb] }) => verb ?? []);
    const alone = commands.find((command) => command.words.length === 1 && command.words[0] === word);
    const summary = summaries[word] ?? alone?.summary ?? "";
    return [word, verbs.length === 0 ? summary : `${summary} (${verbs.join(", ")})`] as const;
  });
  return [
    `${PROGRAM} <resource> <verb> [arguments] [options]`,
    "",
    ...wrap("The platform's operator service, at the command line: who exists on the platform, and who may do what."),
    "",
    ...columns(rows),
    "",
    "Options of every command:",
    ...columns(GLOBAL_OPTIONS.map(optionRow)),
    "",
    ...wrap(
      "Exit codes: 0 done, 1 refused or failed, 2 not understood. In scripts call `npm run -s plat -- …`: without -s npm " +
        "prints two lines of its own first.",
    ),
    "",
    "Examples:",
    ...[
      "tenant --help",
      "tenant list",
      "client set --help",
      "user show ada@demo.example --json",
      "audit --since 2h",
    ].map(example),
  ].join("\n");
}

export function resourceHelp(word: string, commands: readonly Command[], summary: string): string {
  const own = commands.filter(({ words: [one] }) => one === word);
  return [
    ...wrap(`${word}: ${summary}`),
    "",
    ...columns(own.map((command) => [usageOf(command), command.summary] as const)),
    "",
    `More of each one: ${PROGRAM} ${word} <verb> --help`,
  ].join("\n");
}

export function commandHelp(command: Command): string {
  const own = command.options.filter(({ toldWith }) => toldWith === undefined);
  const parts = [
    [`${PROGRAM} ${usageOf(command)}${command.options.length === 0 ? "" : " [options]"}`, "", ...wrap(command.summary)],
    columns(command.args.map(({ name, help }) => [`<${name}>`, help] as const)),
    columns(own.flatMap((option) => [optionRow(option), ...withIt(option, command.options)])),
    ...(command.notes ?? []).map((note) => wrap(note)),
    ["Options of every command:", ...columns(GLOBAL_OPTIONS.map(optionRow))],
    ["Examples:", ...command.examples.map(example)],
  ];
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n");
}

export const usageOf = ({ words, args }: Pick<Command, "words" | "args">): string =>
  [...words, ...args.map(({ name }) => `<${name}>`)].join(" ");

const optionRow = ({ flag, value, repeated, help }: Option): readonly [string, string] => [
  `--${flag}${value === undefined ? "" : ` ${value}`}${repeated === true ? " …" : ""}`,
  help,
];

/** The flags that are told with another one, in a line below it. */
function withIt({ flag, repeated, value }: Option, options: readonly Option[]): (readonly [string, string])[] {
  const flags = options.filter(({ toldWith }) => toldWith === flag).map((other) => `--${other.flag}`);
  if (flags.length === 0) return [];
  const says =
    repeated === true
      ? "(repeated: the whole list; add and remove: single ones; no: none at all)"
      : value === undefined
        ? "(the opposite)"
        : "(takes it away)";
  return [[`  ${flags.join(" ")}`, says]];
}

const example = (text: string): string => (text.includes("npm run") ? `  ${text}` : `  ${PROGRAM} ${text}`);

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(40, Math.max(0, ...rows.map(([left]) => left.length)));
  return rows.flatMap(([left, right]) => {
    const lines = wrap(right, LINE - width - 4);
    const indent = " ".repeat(width + 4);
    if (left.length > width) return [`  ${left}`, ...lines.map((line) => indent + line)];
    return lines.map((line, index) => (index === 0 ? `  ${left.padEnd(width)}  ${line}` : indent + line).trimEnd());
  });
}

export function wrap(text: string, width = LINE): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
