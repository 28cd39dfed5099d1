import { Address, mayBeginInHeader, mayBeginInText } from "./address.ts";
import { type Replacement, Scan } from "./scan.ts";

/**
 * Rewrites a service's private address to its public one, without I/O: response/response.ts decides which responses are
 * rewritten, and response/response-body.ts moves the bytes.
 *
 *   carried over + chunk ──► find the host ──► an address? (address.ts) ──► replaced, passed on
 *         ▲                                            │
 *         └──────────────── undecided ◄────────────────┘
 */
export interface Rewriter {
  /** Rewrites a header's value: an address, or a list of addresses in angle brackets. */
  header(value: string): string;
  /**
   * Rewrites one body chunk by chunk. Holds back only bytes that may be the beginning of an address.
   */
  scan(): Scan;
}

/**
 * `source` is the registered sourceUrl, `target` its public address, both without a slash at the end. The text after
 * the source stays: the rest of the path, query and fragment.
 */
export function createRewriter(source: string, target: string): Rewriter {
  const inBody = new Address(source, mayBeginInText);
  const inHeader = new Address(source, mayBeginInHeader);
  const encoder = new TextEncoder();
  const replacement: Replacement = {
    plain: encoder.encode(target),
    escaped: encoder.encode(target.replaceAll("/", String.raw`\/`)),
  };
  return {
    scan: () => new Scan(inBody, replacement),
    header(value) {
      const bytes = new Scan(inHeader, replacement).whole(encoder.encode(value));
      return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
    },
  };
}

const SCANNED: ReadonlySet<string> = new Set(["application/json", "text/plain", "text/html"]);
/** Charsets that do not encode each ASCII character as its own byte, so that no address would be found. */
const WIDE_CHARSET = /^(utf-?(7|16|32)|ucs-?[24]|iso-10646|unicode$)/;

/** True if bodies of the content type are rewritten: JSON, plain text and HTML in a charset with ASCII bytes. */
export function isRewritten(contentType: string | undefined): boolean {
  const [essence = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  if (!SCANNED.has(essence.trim())) return false;
  const charset = parameters.map((parameter) => /^\s*charset\s*=\s*"?\s*([^\s"]*)/.exec(parameter)?.[1]);
  return !WIDE_CHARSET.test(charset.find((name) => name !== undefined) ?? "");
}
