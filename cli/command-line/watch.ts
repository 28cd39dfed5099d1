import { isOutage } from "../client/admin-client.ts";
import type { Io } from "../terminal/io.ts";
import { watching } from "../terminal/stop.ts";
import { clean } from "../terminal/values.ts";

const FIRST_POLL_MS = 200;
const LONGEST_POLL_MS = 5_000;
/** Our choice: a deployment or a restart takes less, in pauses between two attempts. */
const LONGEST_OUTAGE_MS = 600_000;

interface Work<State> {
  readonly begun: State;
  /** Tells how to watch it again, after Ctrl-C. */
  readonly goesOn: string;
  isUnderWay(state: State): boolean;
  /** How far it is, for the person. */
  shown(state: State): string;
  ask(state: State): Promise<State>;
}

/**
 * Watches work of the platform until it ends, and says how far it is each time it is further. While the platform does
 * not answer, the watching waits: the work goes on afterwards. Ctrl-C ends the watching alone.
 */
export const watchWork = <State>(io: Io, { begun, goesOn, isUnderWay, shown, ask }: Work<State>): Promise<State> =>
  watching(io, goesOn, async (wait) => {
    let [state, said, outMs] = [begun, "", 0];
    const say = (text: string): void => {
      if (text !== said) io.err(`${clean(text)}\n`);
      said = text;
    };
    for (let pauseMs = FIRST_POLL_MS; isUnderWay(state); pauseMs = Math.min(LONGEST_POLL_MS, pauseMs * 1.5)) {
      if (outMs === 0) say(shown(state));
      await wait(pauseMs);
      try {
        state = await ask(state);
        outMs = 0;
      } catch (error) {
        outMs += pauseMs;
        if (!isOutage(error) || outMs > LONGEST_OUTAGE_MS) throw error;
        say(`${error.message} Waiting for the platform.`);
      }
    }
    return state;
  });
