import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Alias,
  type Document,
  type Node,
  type YAMLMap,
} from "yaml";
import { START, type Mistake, type Place } from "./mistake.ts";
import type { Entry, Mapping, Tree } from "./tree.ts";

/** Limits of a file: far above real ones, far below the available memory. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 32;
/** The most values that aliases may expand to: a few lines of nested aliases could mean billions. */
const MAX_ALIASED = 100_000;

export interface FileRead {
  /** Absent if the file is not YAML. */
  readonly root?: Mapping;
  readonly mistakes: readonly Mistake[];
}

/** Parses a YAML 1.2 document of mappings, lists, texts, numbers and flags. Pure; reports all mistakes at once. */
export function readDescription(bytes: Uint8Array): FileRead {
  if (bytes.byteLength > MAX_BYTES) return refused(START, `the file is longer than ${MAX_BYTES} bytes.`);
  const text = new TextDecoder().decode(bytes);
  const lines = new LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return line === 0 ? START : { line, column: col };
  };
  if (!Buffer.from(text).equals(withoutMark(bytes))) {
    const before = text.slice(0, text.indexOf("\uFFFD")).split("\n");
    return refused({ line: before.length, column: (before.at(-1) ?? "").length + 1 }, "the file is not UTF-8.");
  }
  let documents: Document[];
  try {
    // Finds duplicate keys in one pass; the parser's own check is quadratic.
    const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    documents = "empty" in parsed ? [] : parsed;
  } catch (error) {
    if (error instanceof RangeError) return refused(START, "the file is nested too deeply.");
    throw error;
  }
  const faults = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  const overflown = faults.find(({ message }) => message.includes("call stack"));
  if (overflown !== undefined) return refused(placeOf(overflown.pos[0]), "this is nested too deeply.");
  const mistakes = faults.map(({ pos, message }): Mistake => ({ place: placeOf(pos[0]), reason: sentence(message) }));
  const second = documents[1];
  if (second !== undefined)
    mistakes.push({
      place: placeOf(second.range?.[0] ?? 0),
      reason: "a second document begins here; one file is one platform.",
    });
  if (mistakes.length > 0) return { mistakes };
  const document = documents[0];
  if (document === undefined || document.contents === null) return refused(START, "the file describes nothing.");
  return toTree(document, placeOf);
}

const refused = (place: Place, reason: string): FileRead => ({ mistakes: [{ place, reason }] });

const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

const sentence = (message: string): string => `${message.replace(/\.$/, "")}.`;

function toTree(document: Document, placeOf: (offset: number) => Place): FileRead {
  const mistakes: Mistake[] = [];
  let aliased = 0;
  const isOpen = new Set<Node>();
  /** The latest anchor of each name, which an alias at this place means. */
  const anchors = new Map<string, Node>();

  function convert(node: Node | null, at: Place, depth: number, insideAlias: boolean): Tree {
    const place = node?.range ? placeOf(node.range[0]) : at;
    const nothing: Tree = { type: "leaf", place, value: null, source: "" };
    const refuse = (reason: string): Tree => {
      mistakes.push({ place, reason });
      return nothing;
    };
    if (node === null) return nothing;
    if (depth > MAX_DEPTH) return refuse("this is nested too deeply.");
    if (insideAlias && ++aliased > MAX_ALIASED)
      return aliased === MAX_ALIASED + 1 ? refuse(`aliases stand for more than ${MAX_ALIASED} values.`) : nothing;
    if (isAlias(node)) return follow(node, place, depth, refuse);
    if (!insideAlias && "anchor" in node && typeof node.anchor === "string") anchors.set(node.anchor, node);
    if (isScalar(node)) {
      const { value } = node;
      const source = typeof node.source === "string" ? node.source : "";
      if (typeof value === "string" && !value.isWellFormed()) return refuse("this text is not Unicode.");
      if (value === null || ["string", "number", "boolean"].includes(typeof value))
        return { type: "leaf", place, value: value as string | number | boolean | null, source };
      return refuse("this is neither text, number, true nor false.");
    }
    isOpen.add(node);
    const tree: Tree = isSeq<Node>(node)
      ? { type: "sequence", place, items: node.items.map((item) => convert(item, place, depth + 1, insideAlias)) }
      : isMap<Node, Node | null>(node)
        ? { type: "mapping", place, entries: convertEntries(node, place, depth, insideAlias) }
        : nothing;
    isOpen.delete(node);
    return tree;
  }

  function follow(alias: Alias, place: Place, depth: number, refuse: (reason: string) => Tree): Tree {
    const target = anchors.get(alias.source);
    if (target === undefined) return refuse(`there is no anchor &${alias.source} in front of this.`);
    if (isOpen.has(target)) return refuse(`*${alias.source} stands for what it is itself a part of.`);
    return convert(target, place, depth, true);
  }

  function convertEntries(
    node: YAMLMap<Node, Node | null>,
    at: Place,
    depth: number,
    insideAlias: boolean,
  ): Mapping["entries"] {
    const entries = new Map<string, Entry>();
    for (const { key: keyNode, value } of node.items) {
      const keyTree = convert(keyNode, at, depth + 1, insideAlias);
      const keyPlace = keyTree.place;
      const tree = convert(value, keyPlace, depth + 1, insideAlias);
      if (keyTree.type !== "leaf") {
        mistakes.push({ place: keyPlace, reason: "a key must be a text." });
        continue;
      }
      const { value: key, source } = keyTree;
      // YAML 1.1 spellings, which many files use.
      if (key === "<<" && tree.type !== "leaf") {
        mistakes.push({
          place: keyPlace,
          reason: "<< does not merge here (YAML 1.2): write the fields out, or let an alias stand for all of them.",
        });
        continue;
      }
      if (typeof key !== "string") {
        mistakes.push({ place: keyPlace, reason: `a key must be a text: write "${source}" in quotes.` });
        continue;
      }
      const first = entries.get(key);
      if (first !== undefined)
        mistakes.push({
          place: keyPlace,
          reason: `"${key}" is here for the second time, after line ${first.keyPlace.line}.`,
        });
      else entries.set(key, { key, keyPlace, value: tree });
    }
    return entries;
  }

  const root = convert(document.contents, START, 0, false);
  if (root.type !== "mapping")
    return {
      mistakes: [...mistakes, { place: root.place, reason: "the file must be a mapping: organizations:, tenants: …" }],
    };
  return { root, mistakes };
}
