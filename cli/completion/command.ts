import type { Command } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";

/**
 * The hidden command that a shell calls: `plinth __complete topic pu`. It prints a line for each word, with its help.
 */
export const ASK = "__complete";

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_plinth() {
  local IFS=$'\\n'
  COMPREPLY=($(plinth ${ASK} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _plinth plinth
`,
  zsh: `#compdef plinth
_plinth() {
  local -a found
  found=("\${(@f)$(plinth ${ASK} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} )); then
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found//$'\\t'/:}")
    _describe plinth found
  else
    _files
  fi
}
compdef _plinth plinth
`,
  fish: `function __plinth_found
    set -g __plinth_words (plinth ${ASK} (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
    test (count $__plinth_words) -gt 0
end
complete -c plinth -n __plinth_found -f -a '$__plinth_words'
`,
};

export const completionCommand: Command = {
  words: ["completion"],
  summary: "Print a script by which a shell completes the words of plinth.",
  args: [{ name: "shell", help: Object.keys(SCRIPTS).join(", ") }],
  options: [],
  notes: [
    "bash: source <(plinth completion bash) in ~/.bashrc. zsh: the same in ~/.zshrc, below compinit. " +
      "fish: plinth completion fish > ~/.config/fish/completions/plinth.fish",
  ],
  examples: ["completion bash", "completion zsh", "completion fish"],
  async run({ args, io }) {
    const shell = args["shell"] ?? "";
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined)
      throw new UsageError(`There is no script for ${shell}: ${Object.keys(SCRIPTS).join(", ")}.`);
    await io.out(script);
  },
};
