import { Address, mayBeginInHeader, mayBeginInText } from "./address.ts";
import { type Replacement, Scan } from "./scan.ts";

/**
 * Rewriting of a service's private address into its public one (contract 6). Pure; which answers are rewritten and with
 * what headers is the gateway's to say (answer.ts), and how their bytes move is the pump's (pump.ts).
 *
 *   carried over + chunk ──► find the host ──► an address? (address.ts) ──► replaced, passed on
 *         ▲                                            │
 *         └──────────── not to be told yet ◄───────────┘
 */
export interface Rewriter {
  /** The value of a header that is an address, or a list of them in angle brackets. */
  header(value: string): string;
  /** For one body, chunk by chunk. It holds back at most some hundred bytes, and nothing that cannot become an address. */
  scan(): Scan;
}

/**
 * `source`: the registered sourceUrl; `target`: the public address of it. Both without a slash at the end. What follows
 * the source stays: rest of the path, query and fragment.
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
/** In these an ASCII character is not its own byte, so that no address would be found. */
const WIDE_CHARSET = /^(utf-?(7|16|32)|ucs-?[24]|iso-10646|unicode$)/;

/**
 * Whether bodies of a content type are scanned: JSON, plain text and HTML, whatever their parameters, in a charset in
 * which ASCII is ASCII.
 */
export function isRewritten(contentType: string | undefined): boolean {
  const [essence = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  if (!SCANNED.has(essence.trim())) return false;
  const charset = parameters.map((parameter) => /^\s*charset\s*=\s*"?\s*([^\s"]*)/.exec(parameter)?.[1]);
  return !WIDE_CHARSET.test(charset.find((name) => name !== undefined) ?? "");
}
