import { utf8 } from "../../platform/text/encoding.ts";
import { LIMITS } from "./limits.ts";

/** The file name of a `Content-Disposition` header (RFC 6266, RFC 8187), read from uploads and written to downloads. */
export function parseFileName(header: string | null): string | undefined {
  if (header === null) return undefined;
  const parameters = parametersOf(header);
  const extended = parameters.get("filename*");
  const decoded = extended === undefined ? undefined : decodeExtended(extended);
  const name = sanitise(decoded ?? parameters.get("filename") ?? "");
  return name === "" ? undefined : name;
}

/** Writes `filename` in plain ASCII for old clients and, if that changes the name, `filename*` for all others. */
export function formatDisposition(kind: "inline" | "attachment", fileName: string | undefined): string {
  if (fileName === undefined) return kind;
  const plain = fileName.replaceAll(/[^\x20-\x7e]/gu, "_").replaceAll(/["\\%]/g, "_");
  const extended = plain === fileName ? "" : `; filename*=UTF-8''${encodeExtended(fileName)}`;
  return `${kind}; filename="${plain}"${extended}`;
}

/** Returns the parameters by lower-case name. The first of two with the same name counts. */
function parametersOf(header: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", quoted, token = ""] of header.matchAll(
    /;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g,
  )) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, quoted === undefined ? token.trim() : quoted.replaceAll(/\\(.)/g, "$1"));
  }
  return found;
}

/** Decodes `UTF-8'<language>'<percent-encoded>` (RFC 8187). It ignores other character sets, which nobody sends. */
function decodeExtended(value: string): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns the name without path and invisible characters, of limited length; empty if nothing is left. */
function sanitise(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const visible = last.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  const kept = shorten(visible, LIMITS.fileNameMaxBytes);
  return /^\.*$/.test(kept) ? "" : kept;
}

/** A short ending says how to open the file. A longer ending after a dot is rather part of a sentence. */
const EXTENSION = /(?<=.)\.[^.\s]{1,16}$/u;

/** Shortens a name that is too long: cuts between characters and keeps the extension. */
function shorten(name: string, maxBytes: number): string {
  if (utf8(name).length <= maxBytes) return name;
  const extension = EXTENSION.exec(name)?.[0] ?? "";
  const stem = name.slice(0, name.length - extension.length);
  return truncate(stem, maxBytes - utf8(extension).length).trimEnd() + extension;
}

function truncate(text: string, maxBytes: number): string {
  let bytes = 0;
  let kept = "";
  for (const char of text) {
    bytes += utf8(char).length;
    if (bytes > maxBytes) break;
    kept += char;
  }
  return kept;
}
