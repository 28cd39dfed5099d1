import type { Command, Option } from "../command-line/command.ts";

export interface Candidate {
  readonly text: string;
  readonly help: string;
}

/**
 * The words that may complete a line, from the table of commands. `words`: the words after the program's name; the last
 * one may be incomplete. If there are no candidates, the shell offers files.
 */
export function candidatesFor(
  words: readonly string[],
  commands: readonly Command[],
  globals: readonly Option[],
  summaries: Readonly<Record<string, string>>,
): readonly Candidate[] {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  return all().filter(({ text }) => text.startsWith(typed));

  function all(): readonly Candidate[] {
    const [word, verb] = before;
    const named = commands.filter((command) => command.words[0] === word);
    const command =
      named.find((one) => one.words.length === 2 && one.words[1] === verb) ??
      named.find((one) => one.words.length === 1);
    const options = [...(command?.options ?? []), ...globals];
    const waiting = options.find(({ flag, value }) => value !== undefined && before.at(-1) === `--${flag}`);
    if (waiting !== undefined) return choicesOf(waiting);
    if (typed.startsWith("-")) return options.map(({ flag, help }) => ({ text: `--${flag}`, help }));
    if (before.length === 0)
      return [...new Set(commands.map(({ words: [first = ""] }) => first))].map((text) => ({
        text,
        help: summaries[text] ?? commands.find(({ words: [first] }) => first === text)?.summary ?? "",
      }));
    if (before.length === 1)
      return named.flatMap(({ words: [, text], summary }) => (text === undefined ? [] : [{ text, help: summary }]));
    return [];
  }
}

/** The choices in a placeholder: `app` and `person` of `<app|person>`. One for any text, `<file|->`, has none. */
function choicesOf({ value = "" }: Option): readonly Candidate[] {
  const choices = value.slice(1, -1).split("|");
  const isList = choices.length > 1 && !choices.some((one) => /^(file|-|time|url)$/.test(one));
  return isList ? choices.map((text) => ({ text, help: "" })) : [];
}
