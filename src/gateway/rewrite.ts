import { compileAddress } from "./rewrite-address.ts";
import { type Replacement, Scan } from "./rewrite-scan.ts";

/**
 * Rewriting of a service's private address into its public one (contract 6). Pure; which answers are rewritten and with
 * what headers is the gateway's to say.
 *
 *   chunk ──► held back + chunk ──► find the host ──► an address? (rewrite-address.ts) ──► passed on, replaced
 *                  ▲                                            │
 *                  └────────────── not to be told yet ◄─────────┘
 */
export interface Rewriter {
  /** A text as a whole: a header's value. */
  text(value: string): string;
  /** A body, in chunks; holds back at most some hundred bytes, and nothing that cannot become a match. */
  stream(): TransformStream<Uint8Array, Uint8Array>;
}

/**
 * `source`: the registered sourceUrl; `target`: the public address of it. Both without a slash at the end. What follows
 * the source stays: rest of the path, query and fragment.
 */
export function createRewriter(source: string, target: string): Rewriter {
  const address = compileAddress(source);
  const encoder = new TextEncoder();
  const replacement: Replacement = {
    plain: encoder.encode(target),
    escaped: encoder.encode(target.replaceAll("/", String.raw`\/`)),
  };
  return {
    text(value) {
      const scan = new Scan(address, replacement);
      const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
      return decoder.decode(scan.next(encoder.encode(value)), { stream: true }) + decoder.decode(scan.end());
    },
    stream() {
      const scan = new Scan(address, replacement);
      const pass = (bytes: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
        if (bytes.length > 0) controller.enqueue(bytes);
      };
      return new TransformStream({
        transform: (chunk, controller) => pass(scan.next(chunk), controller),
        flush: (controller) => pass(scan.end(), controller),
      });
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
export function isRewritten(contentType: string | null): boolean {
  const [essence = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  if (!SCANNED.has(essence.trim())) return false;
  const charset = parameters.map((parameter) => /^\s*charset\s*=\s*"?\s*([^\s"]*)/.exec(parameter)?.[1]);
  return !WIDE_CHARSET.test(charset.find((name) => name !== undefined) ?? "");
}
