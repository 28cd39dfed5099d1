/**
 * Readers that wait at a log for its next event, each by a WebSocket that says nothing but "there is news":
 *
 *   reader ── GET, Upgrade, after=<seq> ──▶ log is behind `after` or ends there: 101, the reader waits
 *                                       ──▶ log has more:                       204, the reader reads at once
 *                                       ──▶ log is gone or too many wait:       410, 503
 *   log stores an event, closes or goes ──▶ closes every WebSocket; each reader reads again
 *
 * The sockets belong to the runtime, so the object may be evicted while readers wait, and a new instance finds them.
 * Looking and waiting are one turn of the log, so no event falls between them. A lost socket is news, too.
 */
export class WaitingReaders {
  readonly #state: DurableObjectState;
  /** Spares a publish without readers the question. */
  #mayExist: boolean;

  constructor(state: DurableObjectState) {
    this.#state = state;
    this.#mayExist = state.getWebSockets().length > 0;
  }

  /** Answers a reader that has read up to `afterSeq`. `endSeq`: the log's end; undefined: there is no log. */
  answer(request: Request, endSeq: number | undefined): Response {
    const afterSeq = Number(new URL(request.url).searchParams.get("after"));
    if (endSeq === undefined) return new Response(null, { status: 410 });
    if (endSeq > afterSeq) return new Response(null, { status: 204 });
    if (this.#state.getWebSockets().length >= MAX_WAITING) return new Response(null, { status: 503 });
    const { 0: reader, 1: own } = new WebSocketPair();
    this.#state.acceptWebSocket(own);
    this.#mayExist = true;
    return new Response(null, { status: 101, webSocket: reader });
  }

  /** Ends the wait of all. The runtime sends this after what the turn stored is on disk. */
  wake(): void {
    if (!this.#mayExist) return;
    this.#mayExist = false;
    for (const socket of this.#state.getWebSockets()) socket.close(NEWS_CODE);
  }
}

/** An object may hold 32,768. */
const MAX_WAITING = 10_000;
const NEWS_CODE = 1000;
