/** What a server module gets from the bench that starts it. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** An empty directory of its own. */
  readonly stateDir: string;
}

export interface Offered {
  /** Told to the bench; JSON. */
  readonly facts?: object;
  /** Answers what the bench asks past HTTP (`Server.ask`); both are JSON. */
  answer?(question: any): Promise<unknown>;
  stop(): Promise<unknown>;
}

/**
 * The life of a server process: it starts, says so, and ends when the bench asks (SIGTERM) or is gone (the channel
 * closes).
 */
export async function offer(start: (place: Place) => Promise<Offered>): Promise<void> {
  const { BENCH_HOST: host = "", BENCH_PORT: port = "", BENCH_STATE_DIR: stateDir = "" } = process.env;
  let offered: Offered | undefined;
  const stop = async (): Promise<void> => {
    await offered?.stop().catch(() => undefined);
    // The bench made this process the head of its group: whoever is left of it, a runtime that was starting, goes too.
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
  // Miniflare puts handlers of its own in place, which would leave the runtime's process unwaited-for.
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

/** A question on its way to a server's process. */
export interface Question {
  readonly id: number;
  readonly question: unknown;
}

/** Exactly one of the two; no answer at all is an answer too. */
export interface Reply {
  readonly id: number;
  readonly answer?: unknown;
  readonly fault?: string;
}
