import {
  Argument as ProgramArgument,
  Command as Program,
  CommanderError,
  Help,
  Option as ProgramOption,
} from "commander";
import { inWordsOf, type About } from "../terminal/about.ts";
import { nearest } from "../terminal/nearest.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { pluralOf } from "../terminal/values.ts";
import type { Arg, Command, Given, Option } from "./command.ts";

/** Lines of help are as wide as the terminal, but at most so wide. */
const LINE_WIDTH = 100;
/** With less room beside its term, a description is below it. */
const NARROWEST_HELP = 24;
const GLOBAL_HEADING = "Options of every command:";

export const GLOBAL_OPTIONS: readonly Option[] = [
  {
    flag: "json",
    help: "for scripts: print only JSON on the output; a failure is JSON in the last line of the standard error",
  },
  {
    flag: "url",
    value: "<url>",
    help: "the platform, with its path prefix; default: PLINTH_URL, else the one of `npm start`",
  },
  {
    flag: "operator-secret-file",
    value: "<file|->",
    help: "holds the operator secret; default: OPERATOR_CLIENT_SECRET, else (on this machine) .dev.vars",
  },
];

/** Words of other programs and of the interface, by which people may look for our commands. */
const SYNONYMS: Readonly<Record<string, string>> = {
  put: "set",
  create: "set",
  make: "set",
  add: "set",
  update: "set",
  get: "show",
  ls: "list",
  remove: "delete",
  rm: "delete",
  event: "topic",
  events: "topic",
  pubsub: "topic",
  media: "file",
};

interface Ports {
  /** The words of the line. */
  readonly line: readonly string[];
  /** The width of the terminal, if there is one. */
  readonly columns: number | undefined;
  readonly about: About;
  run(command: Command, args: GivenArguments, options: Given): Promise<void>;
  /** Takes the help text, whether it was asked for or replaces a missing command. */
  printHelp(text: string): void;
}

interface GivenArguments {
  readonly named: Readonly<Record<string, string>>;
  /** The values of the last argument, if it takes several. */
  readonly rest: readonly string[];
}

/**
 * Builds the commander program from the table of commands. Parsing throws a CommanderError for help and for a line
 * that is not understood.
 */
export function createProgram(
  { line, columns = LINE_WIDTH, about, run, printHelp }: Ports,
  commands: readonly Command[],
  summaries: Readonly<Record<string, string>>,
): Program {
  const width = Math.min(columns, LINE_WIDTH);
  const program = new Program(about.name)
    .description("Works with a platform: its topics and files, who exists on it, and who may do what.")
    .usage("<resource> <verb> [arguments] [options]")
    .enablePositionalOptions()
    .helpCommand(false)
    .version(about.version, "--version", "show the release")
    .addHelpOption(new ProgramOption("-h, --help", "show this help").helpGroup(GLOBAL_HEADING))
    .exitOverride()
    .configureOutput({
      writeOut: printHelp,
      writeErr: printHelp,
      outputError: () => {},
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
    })
    .configureHelp({
      minWidthToWrap: NARROWEST_HELP,
      formatItem(term, termWidth, description, helper) {
        if (description === "" || width - termWidth - 4 >= NARROWEST_HELP)
          return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
        return `  ${term}\n${helper.boxWrap(description, width - 6).replaceAll(/^/gm, "      ")}`;
      },
      commandUsage: (command) => `${pathOf(command).join(" ")} ${command.usage()}`,
      subcommandTerm: (command) =>
        [...pathOf(command).slice(1), ...command.registeredArguments.map(shownArgument)].join(" "),
    });
  addOptions(program, [], line);
  const ofNpm =
    about.root === undefined
      ? ""
      : " In scripts, call `npm run -s plat -- …`: without -s, npm prints two lines of its own first.";
  const addParagraphs = paragraphsOf(about, width);
  addParagraphs(
    program,
    [`Exit codes: 0 done, 1 refused or failed, 2 not understood, 130 stopped; apply has 3 too.${ofNpm}`],
    ["login", "init", "topic tail orderPlaced", "client set --help", "user show ada@demo.example --json"],
  );
  for (const command of commands) {
    const [word = "", verb] = command.words;
    const found =
      program.commands.find((one) => one.name() === word) ?? addResource(program, word, line, commands, summaries);
    const added = verb === undefined ? found : found.command(verb);
    added.description(command.summary).usage(usageOf(command));
    for (const arg of command.args) added.argument(declared(arg), arg.help);
    addOptions(added, command.options, line);
    addParagraphs(added, command.notes ?? [], command.examples);
    added.action(() => {
      const named = command.args.flatMap(({ name }, index) => {
        const text = added.args[index];
        return text === undefined ? [] : [[name, text] as const];
      });
      const rest = command.args.at(-1)?.several === true ? added.args.slice(command.args.length - 1) : [];
      return run(command, { named: Object.fromEntries(named), rest }, givenOf(added.optsWithGlobals()));
    });
  }
  return program;
}

/** Adds the word in front of the verbs, `tenant`, with its plural as an alias. */
function addResource(
  program: Program,
  word: string,
  line: readonly string[],
  commands: readonly Command[],
  summaries: Readonly<Record<string, string>>,
): Program {
  const own = commands.filter(({ words }) => words[0] === word);
  const verbs = own.flatMap(({ words: [, verb] }) => verb ?? []);
  const summary = summaries[word] ?? own[0]?.summary ?? "";
  const resource = program
    .command(word)
    .alias(pluralOf(word))
    .summary(verbs.length === 0 ? summary : `${summary} (${verbs.join(", ")})`)
    .description(`${word}: ${summary}`)
    .usage("<verb> [arguments] [options]")
    .helpCommand(false);
  if (verbs.length === own.length) addOptions(resource, [], line);
  return resource;
}

const usageOf = ({ args, options }: Command): string =>
  [...args.map(declared), ...(options.length === 0 ? [] : ["[options]"])].join(" ");

/** `<topic>`, `[name]`, `<path...>`. */
function declared({ name, optional, several }: Arg): string {
  const text = several === true ? `${name}...` : name;
  return optional === true ? `[${text}]` : `<${text}>`;
}

const shownArgument = (one: ProgramArgument): string =>
  declared({
    name: one.name(),
    help: "",
    ...(!one.required && { optional: true }),
    ...(one.variadic && { several: true }),
  });

/** Keeps each flag under its own name: `--scope` and `--no-scope` are two options. */
class Flag extends ProgramOption {
  constructor(flags: string, help: string) {
    super(flags, help);
    // Otherwise a `--no-files` without a `--files` beside it counts as given on every line.
    this.negate = false;
  }

  override attributeName(): string {
    return this.name();
  }
}

function addOptions(program: Program, options: readonly Option[], line: readonly string[]): void {
  for (const { flag, value, repeated, help } of [...options, ...GLOBAL_OPTIONS]) {
    const added = new Flag(`${flag === "yes" ? "-y, " : ""}--${flag}${value === undefined ? "" : ` ${value}`}`, help);
    if (GLOBAL_OPTIONS.some((option) => option.flag === flag)) added.helpGroup(GLOBAL_HEADING);
    if (value !== undefined)
      added.argParser((text: string, before: readonly string[] | undefined) => {
        if (before !== undefined && repeated !== true) throw new UsageError(`--${flag} is given twice.`);
        // Commander would take `--disabled` in `--name --disabled` as the name.
        if (text.startsWith("--") && line.includes(text))
          throw new UsageError(`--${flag} needs a value: --${flag} ${value}`);
        return [...(before ?? []), text];
      });
    program.addOption(added);
  }
}

const paragraphsOf =
  (about: About, width: number) =>
  (program: Program, notes: readonly string[], examples: readonly string[]): void => {
    const shown = examples.map(
      (text) => `  ${/npm run|\$\(/.test(text) ? inWordsOf(about, text) : `${about.name} ${text}`}`,
    );
    const wrapped = notes.map((note) => program.createHelp().boxWrap(inWordsOf(about, note), width));
    program.addHelpText("after", `\n${[...wrapped, `Examples:\n${shown.join("\n")}`].join("\n\n")}`);
  };

function givenOf(options: Readonly<Record<string, readonly string[] | boolean>>): Given {
  const values = (flag: string): readonly string[] => {
    const value = options[flag];
    return typeof value === "object" ? value : [];
  };
  return { has: (flag) => flag in options, values, value: (flag) => values(flag).at(-1) };
}

/** The words that a person types to reach a command. */
export const pathOf = (command: Program): string[] =>
  command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()];

/** The command that a line names, or the part of its path that exists. */
export function nearestCommand(line: readonly string[], program: Program): Program {
  let found = program;
  for (const word of line)
    found = found.commands.find((one) => one.name() === word || one.aliases().includes(word)) ?? found;
  return found;
}

/** Turns commander's error into one for people. */
export function toUsageError({ code, message }: CommanderError, near: Program): UsageError {
  const [, given = ""] = /'(.*?)'/s.exec(message) ?? [];
  if (code === "commander.unknownOption") {
    // The value may be a secret, so it is not repeated.
    const [flag = ""] = given.split("=");
    if (near.options.some((option) => option.long === `${flag}-file`))
      return new UsageError(`A secret is never an argument: ${flag}-file <file>, or - for the standard input.`);
    if (near.options.some((option) => option.long === flag)) return new UsageError(`${flag} takes no value.`);
    const long = near.options.flatMap((option) => option.long?.slice(2) ?? []);
    const meant = nearest(flag.slice(2), long);
    return new UsageError(`Unknown option '${flag}'${meant === undefined ? "." : ` (Did you mean --${meant}?)`}`);
  }
  const meant = code === "commander.unknownCommand" ? commandLike(given, near) : undefined;
  return new UsageError(
    sentence(meant === undefined ? message : `unknown command '${given}' (Did you mean ${meant}?)`),
  );
}

/** A command that may be meant: that of a synonym, else one with a similar name or with this beginning, as `org`. */
function commandLike(given: string, near: Program): string | undefined {
  const names = near.commands.map((one) => one.name());
  const synonym = SYNONYMS[given];
  return synonym !== undefined && names.includes(synonym) ? synonym : nearest(given, names);
}

/** Turns `error: unknown command 'lst'\n(Did you mean list?)` into one sentence. */
function sentence(message: string): string {
  const text = message.replace(/^error: /, "").replace("\n", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? "" : "."}`;
}

/** `help tenant set`, `tenant help set` and `-h tenant set` mean `tenant set --help`; `version`, `-v`: `--version`. */
export function withCommonWords(argv: readonly string[], commands: readonly Command[]): readonly string[] {
  const line = argv[0] === "--" ? argv.slice(1) : argv;
  const [first = "", second] = line;
  if (["version", "-v", "-V"].includes(first) && line.length === 1) return ["--version"];
  if (["help", "-h", "--help"].includes(first)) return [...line.slice(1), "--help"];
  const takesArgument = commands.some(({ words, args }) => words.join(" ") === first && args.length > 0);
  return second === "help" && !takesArgument ? [first, ...line.slice(2), "--help"] : line;
}
