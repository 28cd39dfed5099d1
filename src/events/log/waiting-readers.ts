/**
 * Readers that wait at a log for its next event. Each has a WebSocket that carries no messages; its end is the signal:
 *
 *   reader ── GET, Upgrade, after=<seq> ──▶ log has no event after `after`: 101, the reader waits
 *                                       ──▶ log has one:                    204, the reader reads at once
 *                                       ──▶ log is gone or too many wait:   410, 503
 *   log stores an event, closes, is deleted or reset ──▶ closes every WebSocket; each reader reads again
 *
 * The runtime keeps the sockets, so the object may hibernate while readers wait, and a new instance finds them. The log
 * compares positions and accepts the socket in one turn, so no event falls between. A reader that loses its socket
 * reads again, too.
 */
export class WaitingReaders {
  readonly #state: DurableObjectState;
  /** False if no reader can be waiting, so that a publish need not ask the runtime. */
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

  /** Ends the wait of all readers. The runtime sends this only after the writes of this turn are on disk. */
  wake(): void {
    if (!this.#mayExist) return;
    this.#mayExist = false;
    for (const socket of this.#state.getWebSockets()) socket.close(NEWS_CODE);
  }
}

/** An object may hold 32,768. */
const MAX_WAITING = 10_000;
const NEWS_CODE = 1000;
