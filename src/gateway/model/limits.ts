/** Limits of sizes and times of the gateway. */
export const LIMITS = {
  /** Names and values of a request's headers. Other servers accept 16 KiB to 128 KiB. */
  requestHeaderBytes: 32 * 1024,
  /** Headers of a service's response. */
  responseHeaderBytes: 64 * 1024,
  /** Body of a request, as large as Cloudflare accepts on its smallest plans. */
  requestBodyBytes: 100 * 1024 * 1024,
  /** Maximum pause of a caller between two pieces of its body. */
  callerIdleMs: 60_000,
  /** A request that passed this gateway this many times counts as a loop. */
  hops: 5,
  /** Interval between two checks of a WebSocket's token. */
  webSocketCheckMs: 15_000,
  /** Bytes that each side of a WebSocket may send at once, and each second after that. */
  webSocketBurstBytes: 8 * 1024 * 1024,
  webSocketBytesPerSec: 1024 * 1024,
} as const;
