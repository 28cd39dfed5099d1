/** This file decides which content types are accepted at creation, and which a browser may show. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PATTERN = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]*"))*$`,
);

/**
 * True for a media type with parameters (RFC 9110 section 8.3.1): ASCII without control characters, fit for a header.
 */
export const isContentType = (text: string): boolean => PATTERN.test(text);

/** Compares two types without regard to case and to the spaces around `;`. */
export const sameContentType = (a: string, b: string): boolean => comparable(a) === comparable(b);

const comparable = (type: string): string => type.toLowerCase().replaceAll(/[ \t]*;[ \t]*/g, ";");

/** True if the `Content-Encoding` is absent or leaves the content unchanged. */
export const isIdentity = (encoding: string | null | undefined): boolean =>
  (encoding ?? "identity").trim().toLowerCase() === "identity";

/** The types of masters that variants can be made of. */
export const MASTER_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/gif", "image/png"]);

/** Returns the type as a whole and, if it has parameters, also without them. */
export function comparableTypes(type: string): readonly [whole: string, ...essence: string[]] {
  const whole = comparable(type);
  return whole === essence(type) ? [whole] : [whole, essence(type)];
}

/** A form sends several contents in one body, so it cannot be the content type of a file. */
export const isMultipartForm = (type: string): boolean => essence(type) === "multipart/form-data";

export const isMasterType = (type: string): boolean => MASTER_TYPES.has(essence(type));

/**
 * Types that a browser shows without running them. Browsers download all other types: a list of dangerous types would
 * miss the next one. PDF is missing because viewers refuse to open it in the sandbox that content is served with.
 */
const SHOWN =
  /^(?:image\/(?:jpeg|png|gif|webp|avif|bmp|x-icon)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain|application\/json)$/;

export const dispositionOf = (type: string): "inline" | "attachment" =>
  SHOWN.test(essence(type)) ? "inline" : "attachment";

const essence = (type: string): string => type.split(";")[0]!.trim().toLowerCase();
