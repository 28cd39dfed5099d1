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
 * Writes the migrations without comments, one statement on each line. D1 splits a migration into statements by a
 * program of its own, not the one that all tests use. Comments with odd quotes or semicolons, and triggers over several
 * lines, have confused it.
 */
export function writePlainMigrations(to: string): string[] {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const names = migrationNames();
  for (const name of names) writeFileSync(join(to, name), plainSql(readFileSync(join(FOLDER, name), "utf8")));
  return names;
}

/** Tokens: texts and quoted names, comments, white space, words (some open and close a trigger), other characters. */
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
