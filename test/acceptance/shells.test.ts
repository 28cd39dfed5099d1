import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ROOT } from "../../scripts/lib/root.ts";

/**
 * The scripts of `plinth completion`, loaded by each shell itself, which then completes a line. A shell that is not on
 * this machine is left out by name.
 */
mkdirSync(join(ROOT, "node_modules", ".cache"), { recursive: true });
// Temporary folders may be for data alone, and this holds a program.
const folder = mkdtempSync(join(ROOT, "node_modules", ".cache", "shells-"));
const plinth = join(folder, "plinth");
writeFileSync(plinth, `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, "packages/cli/bin/plinth.mjs")} "$@"\n`);
chmodSync(plinth, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const WORDS = "consumers create delete export list publish remove-consumer seek show tail".split(" ");

/** What a shell does after it has the script, so that it prints the candidates of `plinth topic `, a line each. */
const SHELLS = {
  bash: `source <(plinth completion bash)
    COMP_WORDS=(plinth topic ""); COMP_CWORD=2; _plinth; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // compadd is what _describe ends in; completions can only be asked for inside of the line editor.
  zsh: `autoload -Uz compinit; compinit -u -d ${folder}/zcompdump; source <(plinth completion zsh)
    _describe() { local one; for one in "\${(@P)2}"; do print -r -- "\${one%%:*}"; done }
    words=(plinth topic ""); CURRENT=3; _plinth; [[ $_comps[plinth] == _plinth ]]`,
  fish: `plinth completion fish | source; complete -C 'plinth topic ' | string split -f1 \\t`,
};

test.for(Object.entries(SHELLS))("%s completes the words of plinth", ([shell, script], { skip }) => {
  if (spawnSync(shell, ["-c", "true"]).status !== 0) return skip(`${shell} is not on this machine`);
  const plain = shell === "bash" ? ["--norc"] : shell === "zsh" ? ["-f"] : ["--no-config"];
  const env = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, TERM: "dumb" };
  const { status, stdout, stderr } = spawnSync(shell, [...plain, "-c", script], {
    encoding: "utf8",
    env,
    timeout: 30_000,
  });
  expect(status, stderr).toBe(0);
  expect(stdout.trim().split("\n").toSorted()).toEqual(WORDS);
});
