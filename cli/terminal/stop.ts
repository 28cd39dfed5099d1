import { UserError } from "../../scripts/lib/user-error.ts";
import type { Io } from "./io.ts";

/** One Ctrl-C arrives several times: from the terminal, from npm, from npm's child. */
const SAME_STOP_MS = 1_000;
const EXIT_CODE = 130;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A person or a system stopped the command, which left everything in order. */
export class Interrupted extends UserError {
  override name = "Interrupted";
  readonly exitCode = EXIT_CODE;
}

/** The terminal is gone. A failed write would end the program before its work is in order. */
function ignoreFailedWrites(): void {
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error").on("error", () => {});
}

export interface Stop {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** No signal is handled any more. */
  end(): void;
}

/**
 * The first Ctrl-C, SIGTERM or end of the terminal aborts the signal, so that the work ends in order. A second Ctrl-C
 * ends the program at once.
 */
export function stopOnSignal(onStop: () => void = () => {}): Stop {
  const controller = new AbortController();
  let firstMs = 0;
  const stop = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      // The script below npm repeats SIGTERM as long as npm is gone.
      if (name === "SIGINT" && performance.now() - firstMs > SAME_STOP_MS) process.exit(EXIT_CODE);
      return;
    }
    firstMs = performance.now();
    controller.abort();
    if (name === "SIGHUP") ignoreFailedWrites();
    else onStop();
  };
  for (const name of SIGNALS) process.on(name, stop);
  return {
    signal: controller.signal,
    end() {
      for (const name of SIGNALS) process.off(name, stop);
    },
  };
}

/** Watches work of the platform until Ctrl-C, which ends the watching alone: `goesOn` says so. */
export async function watching<T>(
  io: Pick<Io, "wait">,
  goesOn: string,
  watch: (wait: (ms: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const { signal, end } = stopOnSignal();
  const stopped = new Promise<void>((done) => signal.addEventListener("abort", () => done(), { once: true }));
  try {
    return await watch(async (ms) => {
      await Promise.race([io.wait(ms), stopped]);
      if (signal.aborted) throw new Interrupted(goesOn);
    });
  } finally {
    end();
  }
}
