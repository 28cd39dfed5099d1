import { resolve } from "node:path";
import type { AdminClient } from "../client/admin-client.ts";
import type { Io } from "../terminal/io.ts";
import { stopOnSignal } from "../terminal/stop.ts";
import { pluralOf, toJson } from "../terminal/values.ts";
import { check, type Description } from "./check.ts";
import { difference, leftAlone, type Step } from "./difference.ts";
import { readFound } from "./found.ts";
import { KIND, labelOf } from "./kinds.ts";
import { inOrder, showMistakes, type Mistake } from "./mistake.ts";
import { readDescription } from "./read-file.ts";
import { checkReferences } from "./references.ts";
import { createRules } from "./rules.ts";
import { run, type Outcome } from "./run.ts";
import { openSecretsFile, readGivenSecrets, type SecretsFile } from "./secrets.ts";
import { showCounts, showSteps } from "./show.ts";
import { changes, sayMistakes, sayUnfinished } from "./unfinished.ts";

/**
 * `plat apply platform.yaml`: brings a platform to the state that a file describes.
 *
 * file → checked (all mistakes at once; any mistake stops it) → compared with the platform → difference shown →
 * secrets stored → calls, kind by kind. It keeps no state: every run compares anew. So the next run finishes an
 * interrupted one, and a run after a complete one sends nothing.
 */
export interface ApplyOptions {
  readonly bytes: Uint8Array;
  /** The file's name in messages. */
  readonly name: string;
  /** Shows the difference, and what sending it needs, then ends. */
  readonly dryRun: boolean;
  /** With `dryRun`: exit code 3 if there is a difference. */
  readonly exitCode: boolean;
  readonly prune: boolean;
  readonly setPasswords: boolean;
  readonly setSecrets: boolean;
  /** The file for generated client secrets, relative to the person's directory. */
  readonly secrets: string | undefined;
  readonly json: boolean;
  /** True if the platform accepts loopback addresses. */
  readonly allowLoopback: boolean;
}

/** Interval of progress lines within a wave. */
const TELL_EVERY_MS = 2_000;

interface Plan {
  readonly waves: readonly (readonly Step[])[];
  readonly steps: readonly Step[];
  readonly given: ReadonlyMap<Step, string>;
  readonly secretsFile: SecretsFile | undefined;
  /** Secrets that are missing for sending. Only a dry run goes on without them. */
  readonly needs: readonly Mistake[];
  readonly description: Description;
  /** Number of records that the file does not name and that stay. */
  readonly left: number;
}

/** Returns the exit code: 0 done, 1 refused or failed, 3 a difference, 130 interrupted. */
export async function applyFile(client: AdminClient, options: ApplyOptions, io: Io): Promise<number> {
  const plan = await makePlan(client, options, io);
  if ("mistakes" in plan) {
    io.err(sayMistakes(options.name, plan.mistakes, options.json));
    return 1;
  }
  const { steps } = plan;
  if (!options.json) {
    const isKept = (step: Step): boolean => isFromEarlier(step, plan.secretsFile);
    await io.out(showSteps(steps, { file: options.secrets, isKept }, io.paint));
    const summary = steps.length === 0 ? `${client.base} is as the file describes it.` : `${showCounts(steps)}.`;
    await io.out(`${summary}${options.prune ? "" : showLeft(plan.left)}\n`);
  }
  if (options.dryRun || steps.length === 0) {
    if (options.json) await io.out(report(plan, []));
    else if (plan.needs.length > 0)
      io.err(
        `${showMistakes(options.name, plan.needs).join("\n")}\nThat is what sending it needs; nothing was sent.\n`,
      );
    return options.exitCode && steps.length > 0 ? 3 : 0;
  }
  const startedMs = performance.now();
  const outcome = await carryOut(client, plan, options, io);
  if (options.json) await io.out(report(plan, outcome.done));
  const tookS = ((performance.now() - startedMs) / 1000).toFixed(1);
  if (outcome.done.length === steps.length) {
    if (!options.json) await io.out(`Done: ${changes(steps.length)} in ${tookS} s.\n`);
    return 0;
  }
  io.err(sayUnfinished(outcome, steps, options.name, plan.description, options.json));
  return outcome.interrupted ? 130 : 1;
}

async function makePlan(
  client: AdminClient,
  options: ApplyOptions,
  io: Io,
): Promise<Plan | { readonly mistakes: readonly Mistake[] }> {
  const read = readDescription(options.bytes);
  if (read.root === undefined) return read;
  const rules = createRules(client.platform, options.allowLoopback, new URL(client.base).origin);
  const description = check(read.root, rules);
  const { secrets: kept } = options;
  const secretsFile = kept === undefined ? undefined : openSecretsFile(resolve(io.cwd, kept), client.base);
  const found = await readFound(client, description, rules, options.prune);
  const mistakes = [...read.mistakes, ...description.mistakes, ...checkReferences(description, found, options.prune)];
  const waves = difference(description, found, options);
  const steps = waves.flat();
  const secrets = readGivenSecrets(steps, rules, io.env, secretsFile !== undefined);
  const { needs } = secrets;
  const wrong = [...mistakes, ...secrets.mistakes, ...(options.dryRun ? [] : needs)];
  if (wrong.length > 0) return { mistakes: wrong };
  return { waves, steps, given: secrets.secrets, secretsFile, needs, description, left: leftAlone(found, description) };
}

async function carryOut(client: AdminClient, plan: Plan, options: ApplyOptions, io: Io): Promise<Outcome> {
  const { waves, steps, given, secretsFile } = plan;
  const makers = steps.filter(({ secret }) => secret === "made").map(({ id }) => id);
  const made = secretsFile?.keep(makers) ?? new Map<string, string>();
  const stop = stopOnSignal(() => io.err("Stopping; what is under way is brought to its end.\n"));
  let toldMs = performance.now();
  try {
    return await run(client, waves, {
      secretOf: (step) => (step.secret === "made" ? made.get(step.id) : given.get(step)),
      stopping: stop.signal,
      progress(done, { kind }, last) {
        if (options.json || (!last && performance.now() - toldMs < TELL_EVERY_MS)) return;
        toldMs = performance.now();
        const count = String(done).padStart(String(steps.length).length);
        io.err(`  ${count} of ${steps.length}  ${pluralOf(KIND[kind].noun)}\n`);
      },
      surprised: (step) =>
        io.err(
          `${labelOf(step)} had no secret any more, and the one that it got is not kept: npm run plat -- client new-secret ${step.id}\n`,
        ),
    });
  } finally {
    stop.end();
  }
}

/** Tells how many unnamed records stay. */
const showLeft = (count: number): string =>
  count === 0
    ? ""
    : count === 1
      ? " 1 on the platform is not in the file and stays (--prune removes it)."
      : ` ${count} on the platform are not in the file and stay (--prune removes them).`;

const isFromEarlier = ({ secret, id }: Step, file: SecretsFile | undefined): boolean =>
  secret === "made" && file?.has(id) === true;

function report({ steps, left, needs, secretsFile }: Plan, done: readonly Step[]): string {
  const finished = new Set(done);
  const shown = steps.map((step) => {
    const { action, fields, secret } = step;
    const differing = fields.map(({ name, from, to }) => ({
      name,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }));
    return {
      action,
      path: labelOf(step),
      fields: differing,
      ...(secret !== "none" && { secret: isFromEarlier(step, secretsFile) ? "kept" : secret }),
      done: finished.has(step),
    };
  });
  return `${toJson({ changes: shown, left, ...(needs.length > 0 && { needs: [...needs].sort(inOrder) }) })}\n`;
}
