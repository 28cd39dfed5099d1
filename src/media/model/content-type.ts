/** Content types: what is accepted at creation, and how a browser may show it. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PATTERN = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]*"))*$`,
);

/** A media type with parameters (RFC 9110 section 8.3.1): visible ASCII, spaces and tabs, so fit for a header. */
export const isContentType = (text: string): boolean => PATTERN.test(text);

/** Whether two spellings say the same: case and the spaces around `;` do not matter. */
export const sameContentType = (a: string, b: string): boolean => comparable(a) === comparable(b);

const comparable = (type: string): string => type.toLowerCase().replaceAll(/[ \t]*;[ \t]*/g, ";");

/** Whether a `Content-Encoding`, if there is any, leaves the content as it is. */
export const isIdentity = (encoding: string | null | undefined): boolean =>
  (encoding ?? "identity").trim().toLowerCase() === "identity";

/** Masters that variants are made of (specification, Variant). */
export const MASTER_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/gif", "image/png"]);

/** What is compared of a type, as a whole and, where it has parameters, without them. */
export function comparableTypes(type: string): readonly [whole: string, ...essence: string[]] {
  const whole = comparable(type);
  return whole === essence(type) ? [whole] : [whole, essence(type)];
}

/** Not a type of content but a way to send several: the specification leaves it out of this version. */
export const isMultipartForm = (type: string): boolean => essence(type) === "multipart/form-data";

export const isMasterType = (type: string): boolean => MASTER_TYPES.has(essence(type));

/**
 * Types that a browser shows without running them. Everything else is downloaded: a list of what is dangerous would
 * miss the next one. PDF is not here because viewers refuse to open it under the sandbox that content is served with.
 */
const SHOWN =
  /^(?:image\/(?:jpeg|png|gif|webp|avif|bmp|x-icon)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain|application\/json)$/;

export const dispositionOf = (type: string): "inline" | "attachment" =>
  SHOWN.test(essence(type)) ? "inline" : "attachment";

const essence = (type: string): string => type.split(";")[0]!.trim().toLowerCase();
