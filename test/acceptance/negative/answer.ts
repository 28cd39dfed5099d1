import { unescapeHtml } from "../../support/unescape-html.ts";

/** What came back, and how it is looked at. */
export interface Answer {
  /** What was asked, for messages. */
  readonly asked: string;
  readonly method: string;
  /** Of the address, without its query. */
  readonly path: string;
  readonly status: number;
  /** In lower case; several of one name are joined by a line break. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** Undefined where the text is no JSON. */
  readonly json: any;
}

/** Empty where there is none. */
export const header = (answer: Answer, name: string): string => answer.headers.get(name) ?? "";

/** Where the answer sends the browser: its address, its query, its fragment. All empty where it sends it nowhere. */
export function landing(answer: Answer): { at: string; query: URLSearchParams; fragment: URLSearchParams } {
  const [, at = "", query = "", fragment = ""] =
    /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(header(answer, "location")) ?? [];
  return { at, query: new URLSearchParams(query), fragment: new URLSearchParams(fragment) };
}

/** The error of an answer of either kind, with its status. */
export function failureOf(answer: Answer): string {
  const { query, fragment } = landing(answer);
  const error: unknown = answer.json?.error ?? fragment.get("error") ?? query.get("error");
  return `${answer.status} ${typeof error === "string" ? error : ""}`.trim();
}

/**
 * The answer without what differs each time, and without the words that were sent: what is left must not tell anything.
 */
export function bare(answer: Answer, ...sent: readonly string[]): object {
  const { status, text } = answer;
  const headers = Object.fromEntries(answer.headers);
  for (const name of ["date", "plat-request-id"]) delete headers[name];
  // A challenge of passkeys is made for each page.
  const [, challenge = "(none)"] = /name="challenge" value="([\w-]+)"/.exec(text) ?? [];
  const words = [...sent, challenge].reduce((left, word) => left.replaceAll(word, "(sent)"), text);
  return { status, headers, text: words.replaceAll(/\b[0-9a-f]{32}\b/g, "(id)") };
}

/** The fields that the page's form has already. */
export function fieldsOf(page: Answer): Record<string, string> {
  const inputs = [...page.text.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag);
  const read = (tag: string, name: string) => unescapeHtml(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
  return Object.fromEntries(inputs.map((tag) => [read(tag, "name"), read(tag, "value")]));
}
