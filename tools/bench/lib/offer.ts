/** Given to a server by the bench that starts it. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** An empty directory of its own. */
  readonly stateDir: string;
}

export interface Offered {
  /** JSON for the bench. */
  readonly facts?: object;
  /** Answers the bench past HTTP (`Server.ask`); question and answer are JSON. */
  answer?(question: any): Promise<unknown>;
  stop(): Promise<unknown>;
}

/**
 * Runs a server process: it starts, reports its facts, and ends when the bench asks (SIGTERM) or is gone (the channel
 * closes).
 */
export async function offer(start: (place: Place) => Promise<Offered>): Promise<void> {
  const { BENCH_HOST: host = "", BENCH_PORT: port = "", BENCH_STATE_DIR: stateDir = "" } = process.env;
  let offered: Offered | undefined;
  const stop = async (): Promise<void> => {
    await offered?.stop().catch(() => undefined);
    // The bench made this process the leader of its group, so this also ends a runtime that was starting.
    process.kill(-process.pid, "SIGKILL");
  };
  const listen = (): void => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.removeAllListeners(signal);
      process.on(signal, () => void stop());
    }
  };
  listen();
  process.once("disconnect", () => void stop());
  offered = await start({ host, port: Number(port), stateDir });
  // Miniflare's own handlers would leave the runtime's process unwaited-for.
  listen();
  process.on("message", ({ id, question }: Question) => {
    const answering = async (): Promise<unknown> => offered?.answer?.(question);
    void answering().then(
      (answer) => process.send?.({ id, answer }),
      (error: unknown) => process.send?.({ id, fault: error instanceof Error ? error.stack : String(error) }),
    );
  });
  process.send?.(offered.facts ?? {});
}

/** A question to a server's process. */
export interface Question {
  readonly id: number;
  readonly question: unknown;
}

/** Has an answer or a fault; an answer may be absent. */
export interface Reply {
  readonly id: number;
  readonly answer?: unknown;
  readonly fault?: string;
}
