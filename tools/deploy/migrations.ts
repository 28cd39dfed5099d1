import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/root.ts";

const FOLDER = join(ROOT, "migrations");

/** Names of the platform's migrations, in their order. */
export const migrationNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();

/**
 * D1 splits a migration into statements on its own side, and its splitter is another program than the one that all
 * tests use: comments with odd quotes or semicolons and triggers over several lines have confused it. So it is sent
 * what leaves it nothing to guess: no comments, one statement a line.
 */
export function writePlainMigrations(to: string): string[] {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const names = migrationNames();
  for (const name of names) writeFileSync(join(to, name), plainSql(readFileSync(join(FOLDER, name), "utf8")));
  return names;
}

/** Texts and quoted names, comments, the words that open and close a trigger, white space, all else. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\/|\s+|[A-Za-z_][A-Za-z0-9_]*|[^]/g;

export function plainSql(sql: string): string {
  let text = "";
  let depth = 0;
  let isTrigger = false;
  const words: string[] = [];
  for (const [token] of sql.matchAll(TOKEN)) {
    if (/^(--|\/\*)/.test(token) || /^\s/.test(token)) {
      if (text !== "" && !/\s$/.test(text)) text += " ";
      continue;
    }
    if (/^[A-Za-z_]/.test(token)) {
      const word = token.toUpperCase();
      if (words.push(word) <= 4 && words[0] === "CREATE" && word === "TRIGGER") isTrigger = true;
      if (isTrigger && (word === "BEGIN" || word === "CASE")) depth++;
      if (isTrigger && word === "END") depth--;
    }
    if (token === ";" && depth === 0) {
      text = `${text.trimEnd()};\n`;
      isTrigger = false;
      words.length = 0;
    } else text += token;
  }
  return `${text.trim()}\n`;
}
