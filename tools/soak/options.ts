import { randomInt } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../scripts/lib/root.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/** Entries that `--damage` spoils, to show that the checks find it. */
export const DAMAGES = ["push", "events", "media", "audit"] as const;
export type Damage = (typeof DAMAGES)[number];

export const HELP = `npm run soak -- [options]    loads all services at once, with faults, and checks the result

  --seconds <n>   of load (default 60, at most 3600); setting up, draining and checking come on top
  --rate <n>      arrivals a second, by the clock, however long answers take (default 40)
  --seed <n>      of the load and its faults (default: a new one, which is printed)
  --kills <n>     how often the platform is killed (kill -9) and started again (default: once in 15 s)
  --calm          no faults
  --url <address> a running platform, with its path prefix and its operator secret in OPERATOR_CLIENT_SECRET. It is not
                  killed and has no faults inside. It must reach this machine by a loopback address, as npm start does.
                  The records of the run stay there, under names of their own
  --out <dir>     where soak.svg and soak.json are written (default .build/bench)
  --damage <what> ${DAMAGES.join(", ")}: spoils one entry that the checks look at, so the run must fail

Without --url, the run starts a platform with its own state and port and removes it at the end (PORT and STATE_DIR
choose others; STATE_DIR must not exist). Unless --calm, a faulty Worker wraps the platform's (tools/soak/faulty):
objects abort, queue messages are delivered again, crons run twice. A seed fixes the requests and the faults, not the
timing, so it repeats the same story, not the same run.

Exit code 0 if every invariant held, else 1 with the broken ones.
`;

export interface Options {
  readonly seconds: number;
  readonly rate: number;
  readonly seed: number;
  readonly kills: number;
  /** Faults other than kills. */
  readonly faults: boolean;
  readonly url: string | undefined;
  readonly out: string;
  readonly damage: Damage | undefined;
}

const SECONDS_A_KILL = 15;

/** Undefined if only the help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const seconds = whole("--seconds", values.seconds, 3_600);
  const kills = Math.max(1, Math.floor(seconds / SECONDS_A_KILL));
  const damage = DAMAGES.find((known) => known === values.damage);
  if (values.damage !== undefined && damage === undefined)
    throw new UserError(`--damage must be one of ${DAMAGES.join(", ")}, not ${values.damage}`);
  if (values.url !== undefined && !/^https?:\/\//.test(values.url))
    throw new UserError(`--url must be an address like http://127.0.0.1:8787, not ${values.url}`);
  return {
    seconds,
    rate: whole("--rate", values.rate, 2_000),
    seed: values.seed === undefined ? randomInt(2 ** 32) : whole("--seed", values.seed, 2 ** 32 - 1, 0),
    kills:
      values.url !== undefined || values.calm
        ? 0
        : values.kills === undefined
          ? kills
          : whole("--kills", values.kills, 100, 0),
    faults: !values.calm,
    url: values.url?.replace(/\/$/, ""),
    out: values.out,
    damage,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seconds: { type: "string", default: "60" },
        rate: { type: "string", default: "40" },
        seed: { type: "string" },
        kills: { type: "string" },
        calm: { type: "boolean", default: false },
        url: { type: "string" },
        out: { type: "string", default: join(ROOT, ".build", "bench") },
        damage: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function whole(option: string, text: string, max: number, min = 1): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < min || value > max)
    throw new UserError(`${option} must be a whole number from ${min} to ${max}, not ${text}`);
  return value;
}
