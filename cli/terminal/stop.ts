import { UserError } from "../../scripts/lib/user-error.ts";

/** One Ctrl-C arrives several times: from the terminal, from npm, from npm's child. */
const SAME_STOP_MS = 1_000;
const EXIT_CODE = 130;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A person or a system stopped the command, which left everything in order. */
export class Interrupted extends UserError {
  override name = "Interrupted";
  readonly exitCode = EXIT_CODE;
}

export interface Stop {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** No signal is handled any more. */
  end(): void;
}

/**
 * The first Ctrl-C, SIGTERM or end of the terminal aborts the signal, so that the work ends in order. A second one ends
 * the program at once.
 */
export function stopOnSignal(onStop: () => void = () => {}): Stop {
  const controller = new AbortController();
  let firstMs = 0;
  const stop = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted && performance.now() - firstMs > SAME_STOP_MS) process.exit(EXIT_CODE);
    if (controller.signal.aborted) return;
    firstMs = performance.now();
    controller.abort();
    // Nobody reads on, and a failed write would end the program.
    if (name !== "SIGHUP") onStop();
  };
  for (const name of SIGNALS) process.on(name, stop);
  return {
    signal: controller.signal,
    end() {
      for (const name of SIGNALS) process.off(name, stop);
    },
  };
}
