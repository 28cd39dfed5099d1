import { randomInt } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../scripts/lib/root.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/** What is damaged on purpose, so that a run shows that its checks find it. */
export const DAMAGES = ["push", "events", "media", "audit"] as const;
export type Damage = (typeof DAMAGES)[number];

export const HELP = `npm run soak -- [options]    a mixed load of all services with faults, and whether all of it stayed right

  --seconds <n>   of load (default 60, at most 3600); setting up, draining and checking come on top
  --rate <n>      requests a second, by the clock, however long the answers take (default 40)
  --seed <n>      of the load and its faults (default: a new one, which is printed)
  --kills <n>     how often the platform is killed (kill -9) and started again (default: one for each 15 s)
  --calm          no faults
  --url <address> a platform that runs already, with its prefix: not killed, and nothing goes wrong inside it; its operator
                  secret in OPERATOR_CLIENT_SECRET. It must reach this machine by its loopback address, so it is one that
                  npm start runs. What the run made stays there, under names of its own
  --out <dir>     where soak.svg and soak.json are written (default .build/bench)
  --damage <what> ${DAMAGES.join(", ")}: spoils one entry of what the checks look at, so the run must fail

Without --url a platform is started for the run, with a state and a port of its own, and removed afterwards (PORT and
STATE_DIR name others; STATE_DIR must not be there yet). Unless --calm, its Worker is wrapped in another one
(tools/soak/faulty), in which objects are aborted, messages of the queue come again and crons run twice. A seed decides what is asked and what goes wrong; what happens at
the same time is the machine's affair, so a seed makes the same story, not the same run.

Ends with 0 when every invariant held, with 1 and the broken ones when not.
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

/** Undefined: only the help was asked for. */
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
