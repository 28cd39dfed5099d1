import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/lib/local/free-port.ts";
import { readSettings } from "../../scripts/lib/local/settings.ts";
import { paint } from "../../scripts/lib/terminal.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { Caller } from "./world/caller.ts";
import { checkAll, damage } from "./check.ts";
import { Choice, complete, drive, killAtTimes, type Kill } from "./drive.ts";
import { Latencies } from "./world/latencies.ts";
import { ChangesLedger } from "./ledgers/changes.ts";
import { EventsLedger } from "./ledgers/events.ts";
import { FaultsLedger } from "./ledgers/faults.ts";
import { FilesLedger } from "./ledgers/files.ts";
import { TokensLedger } from "./ledgers/tokens.ts";
import { eventsLoad } from "./load/events.ts";
import { filesLoad } from "./load/files.ts";
import { gatewayLoad } from "./load/gateway.ts";
import { oauthLoad } from "./load/oauth.ts";
import { operatorLoad } from "./load/operator.ts";
import type { Stage } from "./load/operation.ts";
import type { Options } from "./options.ts";
import { startOutside, type Outside } from "./world/outside.ts";
import { OwnPlatform, type OwnPlatformDeps } from "./platform.ts";
import { createRandom } from "./lib/random.ts";
import { Violations } from "./ledgers/violations.ts";
import { makeWorld } from "./world/world.ts";

export interface Outcome {
  readonly latencies: Latencies;
  readonly kills: readonly Kill[];
  readonly faults: FaultsLedger;
  readonly violations: Violations;
  /** Error lines of the platform's log, if the run has it. */
  readonly errors: readonly string[];
  /** One sentence about the run's records. */
  readonly summary: string;
}

/** Share of requests whose connection is cut. */
const CUTS = 0.02;
/** Shares of faults inside the run's own platform (faulty/plan.ts). */
const INSIDE = { aborts: 0.05, batches: 0.3 };
const HOST = "127.0.0.1";

/** The whole run. Everything that it started or stored is gone when it returns or throws. */
export async function soak(options: Options, stopping: AbortSignal): Promise<Outcome> {
  const { seed, url } = options;
  const random = createRandom(seed);
  const violations = new Violations();
  const events = new EventsLedger(violations);
  const faults = new FaultsLedger(!options.faults ? "nowhere" : url === undefined ? "inside" : "outside");
  const outside = await startOutside({ random: random.fork(), events, faults, isFailing: options.faults });
  const inside = { faults, shares: options.faults ? INSIDE : undefined, random: random.fork() };
  const own = url === undefined ? await prepare(inside) : undefined;
  const whole = async (): Promise<Outcome> => {
    await own?.platform.start();
    return run({ options, stopping, random, violations, events, faults, outside }, own);
  };
  const stopped = Promise.withResolvers<never>();
  stopping.addEventListener("abort", () => stopped.reject(stopping.reason));
  try {
    return await Promise.race([whole(), stopped.promise]);
  } finally {
    await own?.platform.end();
    if (own !== undefined) rmSync(own.stateDir, { recursive: true, force: true });
    await outside.close();
  }
}

interface Own {
  readonly platform: OwnPlatform;
  readonly base: string;
  readonly stateDir: string;
}

/** Prepares a platform for this run alone, without starting it. */
async function prepare(inside: Omit<OwnPlatformDeps, "env">): Promise<Own> {
  const given = process.env["STATE_DIR"];
  if (given !== undefined && existsSync(given))
    throw new UserError(`${given} is there already: name another STATE_DIR.`);
  const stateDir = given ?? mkdtempSync(join(tmpdir(), "plinth-soak-"));
  const port = process.env["PORT"] ?? String(await freePort(HOST));
  // A killed process leaves its temporary files behind.
  const temporary = join(stateDir, "tmp");
  mkdirSync(temporary, { recursive: true });
  const place = { PORT: port, STATE_DIR: stateDir, TMPDIR: temporary, PUBLIC_URL: "", CONTENT_URL: "", AUTH_URL: "" };
  const platform = new OwnPlatform({ ...inside, env: { ...process.env, ...place } });
  const { config } = readSettings({ ...process.env, ...place });
  return { platform, stateDir, base: `http://${HOST}:${port}${config.pathPrefix}` };
}

interface Run {
  readonly options: Options;
  readonly stopping: AbortSignal;
  readonly random: ReturnType<typeof createRandom>;
  readonly violations: Violations;
  readonly events: EventsLedger;
  readonly faults: FaultsLedger;
  readonly outside: Outside;
}

async function run(
  { options, stopping, random, violations, events, faults, outside }: Run,
  own: Own | undefined,
): Promise<Outcome> {
  const { config } = readSettings(process.env);
  const base = options.url ?? own?.base ?? "";
  const { sourceUrl, receiverOrigin } = outside;
  const { platform, operatorSecret } = config;
  const world = await makeWorld({ base, platform, operatorSecret, sourceUrl, receiverOrigin });
  const latencies = new Latencies();
  const caller = new Caller({ base, violations, latencies, faults, cuts: options.faults ? CUTS : 0 });
  const stage: Stage = {
    world,
    caller,
    outside,
    violations,
    faults,
    events,
    files: new FilesLedger(),
    tokens: new TokensLedger(),
    changes: new ChangesLedger(),
    setUpMs: Date.now(),
    repeats: options.faults,
  };
  const loads = { events: eventsLoad(stage), gateway: gatewayLoad(stage) };
  const choice = new Choice([
    ...loads.events.operations,
    ...loads.gateway.operations,
    ...oauthLoad(stage),
    ...filesLoad(stage),
    ...operatorLoad(stage),
  ]);
  const { seconds, rate, kills } = options;
  const over = { seconds, stopping };
  try {
    await own?.platform.setFailing(true);
    latencies.start();
    const [done] = await Promise.all([
      own === undefined || kills === 0
        ? []
        : killAtTimes(own.platform, { ...over, kills, faults, random: random.fork() }),
      drive({ ...over, rate, choice, random: random.fork() }),
    ]);
    latencies.stop();
    await complete({ choice, random, stopping }, () => faults.isInsideMissing);
    stopping.throwIfAborted();
    console.log(paint.dim("The load is over. Draining and checking…"));
    outside.recover();
    await own?.platform.setFailing(false);
    caller.cutting = false;
    await loads.events.drain({ dueMs: performance.now(), random });
    await loads.gateway.drain({ dueMs: performance.now(), random });
    await checkAll(stage, random, () => options.damage !== undefined && damage(stage, options.damage));
    return {
      latencies,
      kills: done,
      faults,
      violations,
      errors: own?.platform.errors ?? [],
      summary: summarize(stage),
    };
  } catch (error) {
    if (violations.count > 0 && !stopping.aborted) console.error(violations.lines().join("\n"));
    throw error;
  } finally {
    caller.close();
  }
}

function summarize({ events, files, tokens, changes }: Stage): string {
  const revoked = tokens.all.filter(({ state }) => state === "revoked").length;
  return [
    `${events.published.size} events published, ${events.committed.size} read and committed, ${events.pushed.size} pushed;`,
    `${files.of("committed").length} files stored, ${files.of("deleted").length} deleted;`,
    `${tokens.all.length} tokens, ${revoked} revoked; ${changes.done.size} changes by the operator`,
  ].join(" ");
}
