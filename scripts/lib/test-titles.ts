import { parseAst } from "vitest/node";

/**
 * `file › group › title` of the tests that run, titles as they stand in the source (`%s` and all). They are read from the
 * syntax tree, and nothing is started: listing the tests by Vitest would load every file of them.
 */
export interface Titles {
  readonly titles: ReadonlySet<string>;
  /** Tests that are kept from running, each as a sentence. */
  readonly faults: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

interface Call {
  readonly title: string;
  readonly isGroup: boolean;
  readonly rest: readonly Node[];
  /** What is said of it beside its title: `.each`, `{ timeout: 1 }`. */
  readonly modifiers: readonly string[];
}

/** It shows nothing: it runs nowhere, on some machines, or to see it fail. */
const STOPS = new Set(["skip", "todo", "only", "skipIf", "runIf", "fails"]);
/** Such a test is not wanted; the others are not counted. */
const UNWANTED = new Set(["skip", "todo", "only"]);

/** `file`: its name in the titles. */
export function titlesIn(text: string, file: string): Titles {
  const titles = new Set<string>();
  const faults: string[] = [];
  const walk = (node: unknown, place: string): void => {
    if (typeof node !== "object" || node === null) return;
    if (!Array.isArray(node) && skipsItself(node as Node)) faults.push(`${place} calls skip: every test runs`);
    const call = Array.isArray(node) ? undefined : readCall(node as Node, text);
    if (call === undefined) {
      for (const inner of Object.values(node)) walk(inner, place);
      return;
    }
    const stops = call.modifiers.find((name) => STOPS.has(name));
    if (stops !== undefined && UNWANTED.has(stops))
      faults.push(`${file}: ${stops} of "${call.title}": every test runs`);
    if (stops !== undefined) return;
    const inside = `${place} › ${call.title}`;
    if (!call.isGroup) titles.add(inside);
    for (const inner of call.rest) walk(inner, inside);
  };
  walk(parseAst(text, { lang: "ts" }), file);
  return { titles, faults };
}

/** A call of `describe`, `it` or `test` with a title. */
function readCall(node: Node, text: string): Call | undefined {
  if (node.type !== "CallExpression") return undefined;
  const [title, ...rest] = node["arguments"] as Node[];
  const modifiers = rest.flatMap(optionsOf);
  let callee = node["callee"] as Node;
  while (callee.type === "CallExpression" || callee.type === "MemberExpression") {
    if (callee.type === "MemberExpression") modifiers.push((callee["property"] as Node)["name"] as string);
    callee = (callee.type === "CallExpression" ? callee["callee"] : callee["object"]) as Node;
  }
  const isTest = ["describe", "it", "test"].includes(callee["name"] as string);
  // `it.each(cases)` is called once more, with the title; `it.todo(title)` is not.
  if (!isTest || title === undefined || (rest.length === 0 && !modifiers.some((name) => STOPS.has(name))))
    return undefined;
  const shown = title.type === "Literal" ? String(title["value"]) : text.slice(title.start, title.end);
  return { title: shown.replace(/^`|`$/g, ""), isGroup: callee["name"] === "describe", rest, modifiers };
}

/** `{ skip: true }` behind the title. */
const optionsOf = ({ type, properties }: Node): string[] =>
  type === "ObjectExpression"
    ? (properties as Node[])
        .filter(({ type: kind }) => kind === "Property")
        .map(({ key }) => (key as Node)["name"] as string)
    : [];

/** `context.skip()`, or `skip()` of a context taken apart. */
function skipsItself({ type, callee }: Node): boolean {
  if (type !== "CallExpression") return false;
  const { type: kind, name, property } = callee as Node;
  return kind === "MemberExpression"
    ? (property as Node)["name"] === "skip" && !isTestSkip(callee as Node)
    : name === "skip";
}

const isTestSkip = ({ object }: Node): boolean =>
  ["describe", "it", "test"].includes((object as Node)["name"] as string);
