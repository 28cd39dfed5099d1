import { err, ok, type Result } from "../../platform/model/result.ts";
import { sortKey, TYPE_KEY } from "../metadata/attributes.ts";
import { LIMITS } from "../model/limits.ts";
import { readWord } from "./quoted-text.ts";

/** An attribute to sort by, as its key in the index. */
export interface SortKey {
  readonly key: string;
  readonly descending: boolean;
}

const BARE = /[^",:]/;

/**
 * Parses `sort`, such as `name:desc,Content-Type`. A name is a path into the metadata, quoted if it has a comma, colon
 * or quotation mark. The first of repeated names counts. The error describes the mistake. Pure.
 */
export function parseSort(source: string): Result<readonly SortKey[], string> {
  const keys = new Map<string, SortKey>();
  for (let at = 0; source.trim() !== "" && at <= source.length;) {
    const item = readItem(source, at);
    if (!item.ok) return item;
    const { key, end } = item.value;
    if (!keys.has(key.key)) keys.set(key.key, key);
    if (keys.size > LIMITS.sortKeysPerRequest) return err(`names more than ${LIMITS.sortKeysPerRequest} attributes`);
    at = end + 1;
  }
  return ok([...keys.values()]);
}

function readItem(source: string, from: number): Result<{ readonly key: SortKey; readonly end: number }, string> {
  const start = from + /^\s*/.exec(source.slice(from))![0].length;
  const name = readWord(source, start, BARE);
  if (!name.ok) return name;
  const isBare = source[start] !== '"';
  const text = isBare ? name.value.text.trim() : name.value.text;
  if (isBare && text === "") return err(`needs the name of an attribute at character ${start + 1}`);
  const direction = /^\s*(?::\s*(asc|desc)\s*)?(?=,|$)/.exec(source.slice(name.value.end));
  if (direction === null) return err(`needs name:asc or name:desc, separated by commas, at character ${start + 1}`);
  const key = isBare && text === "Content-Type" ? TYPE_KEY : sortKey(text);
  return ok({ key: { key, descending: direction[1] === "desc" }, end: name.value.end + direction[0].length });
}
