/**
 * The terms of `q`, for the fields: `album:summer tags:"open sea"`. In quotation marks, `\"` is a mark and `\\` a
 * backslash. Undefined for a text that fields cannot show: then only the text can be edited, and the service explains
 * errors.
 */
export interface Term {
  readonly key: string;
  readonly value: string;
}

const WORD = /(?:"((?:\\["\\]|\\(?!["\\])|[^"\\])*)"|([^\s":]+))/y;

export function parseTerms(text: string): readonly Term[] | undefined {
  const terms: Term[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const key = wordAt(text, at);
    if (key === undefined || key.word === "" || text[key.end] !== ":") return undefined;
    const value = wordAt(text, key.end + 1);
    // Fields would leave a term without a value out, as a line that is still being filled in.
    if (value === undefined || value.word === "") return undefined;
    if (value.end < text.length && !/\s/.test(text[value.end]!)) return undefined;
    terms.push({ key: key.word, value: value.word });
    at = skipSpace(text, value.end);
  }
  return terms;
}

export const formatTerms = (terms: readonly Term[]): string =>
  terms
    .filter(({ key, value }) => key !== "" && value !== "")
    .map(({ key, value }) => `${quoted(key)}:${quoted(value)}`)
    .join(" ");

const quoted = (word: string): string =>
  /[\s":\\]/.test(word) ? `"${word.replaceAll(/["\\]/g, (char) => `\\${char}`)}"` : word;

function wordAt(text: string, at: number): { readonly word: string; readonly end: number } | undefined {
  WORD.lastIndex = at;
  const found = WORD.exec(text);
  if (found === null) return undefined;
  const [all, marked, bare = ""] = found;
  return { word: marked === undefined ? bare : marked.replaceAll(/\\(["\\])/g, "$1"), end: at + all.length };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at]!)) at += 1;
  return at;
}
