import { empty, type Answer } from "../../http/route.ts";
import { httpDate } from "../../platform/text/http-date.ts";
import type { ByteRange } from "../blobs/blob-store.ts";
import { evaluateConditions, rangeApplies } from "../model/conditional.ts";
import { formatDisposition } from "../model/content-disposition.ts";
import { dispositionOf } from "../model/content-type.ts";
import { toProblem } from "../model/failure.ts";
import { contentRange, parseRanges } from "./byte-range.ts";

/** The properties of content that are known before its bytes are read. */
export interface Content {
  /** Strong, with its quotes. */
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly sizeBytes: number;
  readonly contentType: string;
  readonly fileName?: string | undefined;
}

/** The answer to a request: without content, or with some of its bytes. */
export type ContentPlan = { readonly send: "nothing"; readonly answer: Answer } | BytesPlan;

export type BytesPlan =
  | { readonly send: "whole"; readonly headers: Record<string, string> }
  | { readonly send: "part"; readonly part: ByteRange; readonly headers: Record<string, string> }
  | {
      readonly send: "parts";
      readonly parts: readonly [ByteRange, ...ByteRange[]];
      readonly headers: Record<string, string>;
    };

/** Evaluates conditions first, then the range (RFC 9110). `shared` has the caching headers. */
export function planContent(
  request: Request,
  content: Content,
  shared: Readonly<Record<string, string>>,
  nowMs: number,
): ContentPlan {
  const { etag, lastModifiedMs, sizeBytes, contentType, fileName } = content;
  const validators = { etag, "last-modified": httpDate(lastModifiedMs), ...shared };
  switch (evaluateConditions(request.headers, content, nowMs)) {
    case "failed":
      return { send: "nothing", answer: toProblem({ kind: "precondition_failed" }) };
    case "not_modified":
      return { send: "nothing", answer: empty(304, validators) };
    case "proceed":
  }
  const headers = {
    ...validators,
    "content-type": contentType,
    "content-disposition": formatDisposition(dispositionOf(contentType), fileName),
    "accept-ranges": "bytes",
    // Strangers upload the content, so a browser that shows it must not run it.
    "content-security-policy": "sandbox",
  };
  const wholeHeaders = { ...headers, "content-length": String(sizeBytes) };
  // Ranges are defined for GET only (section 14.2).
  if (request.method === "HEAD") return { send: "nothing", answer: empty(200, wholeHeaders) };
  const applies = rangeApplies(request.headers, content, nowMs);
  const ranges = applies ? parseRanges(request.headers.get("range"), sizeBytes) : "whole";
  if (ranges === "whole") return { send: "whole", headers: wholeHeaders };
  if (ranges === "unsatisfiable")
    return { send: "nothing", answer: toProblem({ kind: "range_not_satisfiable", sizeBytes }) };
  const [part, second] = ranges;
  if (second !== undefined) return { send: "parts", parts: ranges, headers };
  const partHeaders = {
    ...headers,
    "content-range": contentRange(part, sizeBytes),
    "content-length": String(part.length),
  };
  return { send: "part", part, headers: partHeaders };
}
