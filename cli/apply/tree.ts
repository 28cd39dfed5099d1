import type { Place } from "./mistake.ts";

/** The contents of a YAML file with places. Keys are texts and unique. */
export type Tree = Mapping | Sequence | Leaf;

export interface Mapping {
  readonly type: "mapping";
  readonly place: Place;
  readonly entries: ReadonlyMap<string, Entry>;
}

export interface Entry {
  readonly key: string;
  readonly keyPlace: Place;
  readonly value: Tree;
}

interface Sequence {
  readonly type: "sequence";
  readonly place: Place;
  readonly items: readonly Tree[];
}

interface Leaf {
  readonly type: "leaf";
  readonly place: Place;
  readonly value: string | number | boolean | null;
  /** As written: `1.0` for the number 1. */
  readonly source: string;
}

/** For a schema. A key such as `__proto__` becomes an ordinary field. */
export function toPlain(tree: Tree): unknown {
  if (tree.type === "leaf") return tree.value;
  if (tree.type === "sequence") return tree.items.map(toPlain);
  return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, toPlain(value)]));
}

/** The place of a field in bean notation (`scopes[2]`, `quota.files`), or of its nearest existing parent. */
export function nodeAt(tree: Tree, field: string): Tree {
  let at = tree;
  for (const step of field.split(/[.[\]]+/).filter((part) => part !== "")) {
    const next =
      at.type === "mapping" ? at.entries.get(step)?.value : at.type === "sequence" ? at.items[Number(step)] : undefined;
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

/** For people: `a list`. */
export const nameOf = (tree: Tree): string =>
  tree.type === "mapping"
    ? "a mapping"
    : tree.type === "sequence"
      ? "a list"
      : tree.value === null
        ? "nothing"
        : `a ${typeof tree.value === "string" ? "text" : typeof tree.value}`;
