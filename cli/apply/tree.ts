import type { Place } from "./mistake.ts";

/** What a YAML file holds, with the place of everything. Keys are texts and stand once. */
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

export interface Sequence {
  readonly type: "sequence";
  readonly place: Place;
  readonly items: readonly Tree[];
}

export interface Leaf {
  readonly type: "leaf";
  readonly place: Place;
  readonly value: string | number | boolean | null;
  /** As it is written: `1.0` of the number 1. */
  readonly source: string;
}

/** As a schema takes it. A key such as `__proto__` becomes a field like every other. */
export function toPlain(tree: Tree): unknown {
  if (tree.type === "leaf") return tree.value;
  if (tree.type === "sequence") return tree.items.map(toPlain);
  return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, toPlain(value)]));
}

/** What a field in bean notation (`scopes[2]`, `quota.files`) points at, or the last of its parents that is there. */
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
