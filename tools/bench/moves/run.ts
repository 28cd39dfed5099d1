import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/root.ts";
import { UserError } from "../../../scripts/lib/user-error.ts";
import { whole } from "../lib/statistics.ts";

interface Options {
  readonly schedules: number;
  /** The time after which no further run of the tests begins. */
  readonly minutes: number;
  readonly seed: number;
}

/** Schedules in one run of the tests. The memory of a runtime grows with each of them. */
const SCHEDULES_A_RUN = 100;
const TESTS = ["run", "--project", "worker", "test/media/model.test.ts", "-t", "random schedules"];
/** The end of a failed run's output that is shown: the difference, and how to run the schedule again. */
const SHOWN_CHARS = 20_000;

/**
 * `npm run bench -- moves`: random schedules of uploads, reads, lists, deletions and renditions while tenants move
 * between four shards, with faults, against the model of the media service (test/media/model-schedules.ts).
 */
export async function runMoves({ schedules, minutes, seed }: Options): Promise<void> {
  const startMs = performance.now();
  const minutesSince = () => (performance.now() - startMs) / 60_000;
  let done = 0;
  for (let run = 0; done < schedules && minutesSince() < minutes; run++) {
    const count = Math.min(SCHEDULES_A_RUN, schedules - done);
    const said = await runTests({ MEDIA_SCHEDULES: String(count), MODEL_SEED: String(seed + run) });
    if (said !== undefined) {
      console.error(said.slice(-SHOWN_CHARS));
      throw new UserError(`A schedule failed, of the ${count} with the seed ${seed + run}, after ${done} others.`);
    }
    done += count;
    console.log(`${whole(done)} schedules in ${whole(minutesSince())} min, the last ones with the seed ${seed + run}`);
  }
  console.log(`${whole(done)} of ${whole(schedules)} schedules: every answer was right.`);
}

/** Runs the tests. Returns their output if one failed. */
async function runTests(settings: Readonly<Record<string, string>>): Promise<string | undefined> {
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const child = spawn(process.execPath, [vitest, ...TESTS], {
    cwd: ROOT,
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => void (said = (said + text).slice(-SHOWN_CHARS)));
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0 ? undefined : said;
}
