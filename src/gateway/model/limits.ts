/** What the gateway takes and how long it waits. Our choices, where the contract names none. */
export const LIMITS = {
  /** Of a request's headers, names and values. What carries requests to us takes some 16 KiB to 128 KiB. */
  requestHeaderBytes: 32 * 1024,
  /** Of an answer's headers. */
  answerHeaderBytes: 64 * 1024,
  /** Of a request's body; what Cloudflare takes on its smallest plans. */
  requestBodyBytes: 100 * 1024 * 1024,
  /** How long a caller may take between two pieces of its body. */
  callerIdleMs: 60_000,
  /** How often a request may come by here before it is taken for one that goes in circles. */
  hops: 5,
  /** How often a WebSocket's token is looked at. */
  webSocketLookMs: 15_000,
  /** What each side of a WebSocket may send at once, and each second after that. */
  webSocketBurstBytes: 8 * 1024 * 1024,
  webSocketBytesPerSec: 1024 * 1024,
} as const;
