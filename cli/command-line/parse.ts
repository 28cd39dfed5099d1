import type { Command, Given, Option } from "./command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { didYouMean, nearest } from "../terminal/nearest.ts";

/** Options that every command has. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  {
    flag: "json",
    help: "for scripts: JSON alone on the output, everything else on the standard error, a failure as JSON in its last line",
  },
  {
    flag: "url",
    value: "<url>",
    help: "the platform, with its path prefix; without it PLINTH_URL, else the one of `npm start`",
  },
  {
    flag: "operator-secret-file",
    value: "<file|->",
    help: "holds the operator secret; without it OPERATOR_CLIENT_SECRET, else (on this machine) .dev.vars",
  },
  { flag: "help", help: "this help" },
];

export interface Parsed {
  readonly args: Readonly<Record<string, string>>;
  readonly options: Given;
}

/** What a line asks for. */
export interface FoundCommand {
  readonly command?: Command;
  /** Its words, or the beginning of a command that is not whole: its help is what there is to say. */
  readonly wanted: readonly string[];
  /** What is left of the line. */
  readonly rest: readonly string[];
  /** Its help is wanted: `help tenant`, `tenant help`. */
  readonly help?: true;
}

/** Words that lead to a command. `tenants` is `tenant`; options may stand in front, and a `--` that npm let through. */
export function findCommand(argv: readonly string[], commands: readonly Command[]): FoundCommand {
  const front: string[] = [];
  let from = 0;
  while (argv[from]?.startsWith("-") === true) {
    if (argv[from] === "--") {
      from += 1;
      continue;
    }
    const flag = readFlag(argv[from] ?? "");
    const takesValue = !flag.includes("=") && optionOf(flag, GLOBAL_OPTIONS)?.value !== undefined;
    front.push(...argv.slice(from, from + (takesValue ? 2 : 1)));
    from += takesValue ? 2 : 1;
  }
  const [first, second] = argv.slice(from);
  if (first === undefined) return { wanted: [], rest: front };
  if (first === "help") return { ...findCommand([...front, ...argv.slice(from + 1)], commands), help: true };
  const word = singular(first, commands);
  if (word === undefined) {
    const words = [...new Set(commands.map(({ words: [one = ""] }) => one))];
    throw new UsageError(`There is no ${first}.${didYouMean(first, words)}`);
  }
  const rest = (used: number): string[] => [...front, ...argv.slice(from + used)];
  const alone = commands.find(({ words }) => words.length === 1 && words[0] === word);
  // Who takes an argument takes this word for one: a file may have the name.
  if (second === "help" && (alone?.args.length ?? 0) === 0)
    return { ...findCommand([...front, first, ...argv.slice(from + 2)], commands), help: true };
  const verbs = commands.filter(({ words }) => words.length === 2 && words[0] === word);
  const verb = verbs.find(({ words }) => words[1] === second);
  if (verb !== undefined) return { command: verb, wanted: verb.words, rest: rest(2) };
  if (alone !== undefined) return { command: alone, wanted: alone.words, rest: rest(1) };
  if (second === undefined || second.startsWith("-")) return { wanted: [word], rest: rest(1) };
  const known = verbs.map(({ words }) => words[1] ?? "");
  const near = SYNONYMS.find(([one, other]) => one === second && known.includes(other))?.[1] ?? nearest(second, known);
  throw new UsageError(
    near === undefined
      ? `${word} has no verb ${second}. It has: ${known.join(", ")}.`
      : `${word} has no verb ${second}. Did you mean ${near}?`,
  );
}

/** What the same is called elsewhere. */
const SYNONYMS = [
  ["put", "set"],
  ["create", "set"],
  ["make", "set"],
  ["add", "set"],
  ["update", "set"],
  ["get", "show"],
  ["ls", "list"],
  ["remove", "delete"],
  ["rm", "delete"],
] as const;

const plural = (word: string): string => (/[^aeiou]y$/.test(word) ? word.replace(/y$/, "ies") : `${word}s`);

const singular = (given: string, commands: readonly Command[]): string | undefined =>
  commands.flatMap(({ words: [one = ""] }) => (one === given || plural(one) === given ? [one] : []))[0];

/** What may be options: behind a `--` of its own there are arguments alone. */
export function beforeArguments(rest: readonly string[]): readonly string[] {
  const end = rest.indexOf("--");
  return end < 0 ? rest : rest.slice(0, end);
}

/** What stands behind the command's words. */
export function parse(
  rest: readonly string[],
  command: Pick<Command, "words" | "args" | "options">,
  allowed: "its words" | "any words" = "its words",
): Parsed {
  const known = [...command.options, ...GLOBAL_OPTIONS];
  const given: { flag: string; value: string }[] = [];
  const args: string[] = [];
  for (let index = 0; index < rest.length; index++) {
    const text = rest[index] ?? "";
    if (text === "--") {
      args.push(...rest.slice(index + 1));
      break;
    }
    if (!text.startsWith("-") || text === "-") {
      args.push(text);
      continue;
    }
    const [, flag = "", attached] = /^([^=]*)(?:=(.*))?$/s.exec(readFlag(text)) ?? [];
    const option = optionOf(flag, known);
    if (option === undefined) {
      if (optionOf(`${flag}-file`, known) !== undefined)
        throw new UsageError(`A secret is never an argument: --${flag}-file <file>, or - for the standard input.`);
      throw new UsageError(`${command.words.join(" ") || "plat"} has no option --${flag}.${meant(flag, known)}`);
    }
    if (option.value === undefined) {
      if (attached !== undefined) throw new UsageError(`--${flag} takes no value.${negative(flag, known)}`);
      given.push({ flag, value: "" });
      continue;
    }
    const next = attached ?? rest[++index];
    if (next === undefined || (attached === undefined && next.startsWith("--")))
      throw new UsageError(`--${flag} needs a value: --${flag} ${option.value}`);
    if (option.repeated !== true && given.some((one) => one.flag === flag))
      throw new UsageError(`--${flag} is given twice.`);
    given.push({ flag, value: next });
  }
  return { args: allowed === "any words" ? {} : nameArgs(args, command), options: givenOf(given) };
}

function nameArgs(
  args: readonly string[],
  { args: wanted, words }: Pick<Command, "words" | "args">,
): Record<string, string> {
  const line = [...words, ...wanted.map(({ name }) => `<${name}>`)].join(" ");
  const missing = wanted[args.length];
  if (missing !== undefined) throw new UsageError(`<${missing.name}> is missing (${missing.help}): ${line}`);
  if (args.length > wanted.length) throw new UsageError(`${args[wanted.length]} is one word too many: ${line}`);
  const empty = wanted.find((_, index) => args[index] === "");
  if (empty !== undefined) throw new UsageError(`<${empty.name}> is empty.`);
  return Object.fromEntries(args.map((value, index) => [wanted[index]?.name ?? "", value]));
}

const givenOf = (given: readonly { flag: string; value: string }[]): Given => {
  const values = (flag: string): string[] => given.filter((one) => one.flag === flag).map(({ value }) => value);
  return { values, has: (flag) => values(flag).length > 0, value: (flag) => values(flag).at(-1) };
};

/** `-h` and `-y` are the only short ones. */
const readFlag = (text: string): string =>
  text === "-h" ? "help" : text === "-y" ? "yes" : text.startsWith("--") ? text.slice(2) : text.slice(1);

const optionOf = (flag: string, options: readonly Option[]): Option | undefined =>
  options.find((option) => option.flag === flag);

const meant = (flag: string, options: readonly Option[]): string =>
  didYouMean(
    `--${flag}`,
    options.map((option) => `--${option.flag}`),
  );

const negative = (flag: string, options: readonly Option[]): string =>
  optionOf(`no-${flag}`, options) === undefined ? "" : ` The opposite is --no-${flag}.`;
