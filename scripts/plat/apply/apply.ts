import { readFileSync } from "node:fs";
import { UserError } from "../../lib/user-error.ts";
import { AdminRefusal, type AdminClient } from "../admin-client.ts";
import type { Io } from "../io.ts";
import { toJson } from "../values.ts";
import { check, collectionOf, type Description } from "./check.ts";
import { difference, leftAlone, type Step } from "./difference.ts";
import { readFound } from "./found.ts";
import { KIND, labelOf } from "./kinds.ts";
import { showMistakes, START, type Mistake, type Place } from "./mistake.ts";
import { readDescription } from "./read-file.ts";
import { checkReferences } from "./references.ts";
import { createRules } from "./rules.ts";
import { run, type Outcome } from "./run.ts";
import { openSecretsFile, readGivenSecrets, type SecretsFile } from "./secrets.ts";
import { showCounts, showSteps } from "./show.ts";

/**
 * `plat apply platform.yaml`: brings a platform to the state that a file describes.
 *
 * file → checked (all mistakes at once; one is enough to send nothing) → compared with what is there → difference shown
 * → secrets kept → calls, kind by kind. Nothing is remembered between runs: each compares anew, so the next one finishes
 * what a killed one began, and a run after a whole one sends nothing.
 */
export interface ApplyOptions {
  readonly file: string;
  /** Shows the difference, and what sending it needs besides, and ends. */
  readonly dryRun: boolean;
  /** With `dryRun`: the exit code is 3 if there is a difference. */
  readonly exitCode: boolean;
  readonly prune: boolean;
  readonly setPasswords: boolean;
  readonly setSecrets: boolean;
  /** File for client secrets that are made. */
  readonly secrets: string | undefined;
  readonly json: boolean;
  /** Whether the platform takes loopback addresses; what it does not take it refuses itself. */
  readonly allowLoopback: boolean;
}

/** Of a long row of alike, besides the end of each. */
const TELL_EVERY_MS = 2_000;

interface Plan {
  readonly waves: readonly (readonly Step[])[];
  readonly steps: readonly Step[];
  readonly given: ReadonlyMap<Step, string>;
  readonly secretsFile: SecretsFile | undefined;
  /** Of a dry run: what sending it would need besides. */
  readonly needs: readonly Mistake[];
  readonly description: Description;
  /** What stays though the file does not name it. */
  readonly left: number;
}

/** The exit code: 0 done, 1 refused or failed, 3 a difference, 130 interrupted. */
export async function applyFile(client: AdminClient, options: ApplyOptions, io: Io): Promise<number> {
  const plan = await makePlan(client, options, io);
  if ("mistakes" in plan) {
    const lines = showMistakes(options.file, plan.mistakes);
    const count = lines.length === 1 ? "One mistake" : `${lines.length} mistakes`;
    io.err(`${lines.join("\n")}\n${count}; nothing was sent.\n`);
    if (options.json) await io.out(`${toJson({ mistakes: plan.mistakes })}\n`);
    return 1;
  }
  const { steps } = plan;
  const stay =
    plan.left === 0 || options.prune
      ? ""
      : ` ${plan.left} on the platform are not in the file and stay (--prune removes them).`;
  if (!options.json) {
    await io.out(showSteps(steps, options.secrets, io.paint));
    const summary = steps.length === 0 ? `${client.base} is as the file describes it.` : `${showCounts(steps)}.`;
    await io.out(`${summary}${stay}\n`);
  }
  if (options.dryRun || steps.length === 0) {
    if (options.json) await io.out(report(steps, [], plan.left));
    if (plan.needs.length > 0)
      io.err(
        `${showMistakes(options.file, plan.needs).join("\n")}\nThat is what sending it needs; nothing was sent.\n`,
      );
    return options.exitCode && steps.length > 0 ? 3 : 0;
  }
  const startedMs = performance.now();
  const outcome = await carryOut(client, plan, options, io);
  if (options.json) await io.out(report(steps, outcome.done, plan.left));
  const tookS = ((performance.now() - startedMs) / 1000).toFixed(1);
  if (outcome.done.length === steps.length) {
    if (!options.json) await io.out(`Done: ${steps.length} changes in ${tookS} s.\n`);
    return 0;
  }
  io.err(showFailure(outcome, plan, options));
  return outcome.interrupted ? 130 : 1;
}

async function makePlan(
  client: AdminClient,
  options: ApplyOptions,
  io: Io,
): Promise<Plan | { readonly mistakes: readonly Mistake[] }> {
  const read = readDescription(readBytes(options.file));
  if (read.root === undefined) return read;
  const rules = createRules(client.platform, options.allowLoopback, new URL(client.base).origin);
  const description = await check(read.root, rules);
  const secretsFile = options.secrets === undefined ? undefined : openSecretsFile(options.secrets, client.base);
  const found = await readFound(client, description, rules, options.prune);
  const mistakes = [...read.mistakes, ...description.mistakes, ...checkReferences(description, found, options.prune)];
  const waves = difference(description, found, options);
  const steps = waves.flat();
  const secrets = await readGivenSecrets(steps, rules, io.env, secretsFile !== undefined);
  const { needs } = secrets;
  const wrong = [...mistakes, ...secrets.mistakes, ...(options.dryRun ? [] : needs)];
  if (wrong.length > 0) return { mistakes: wrong };
  return { waves, steps, given: secrets.secrets, secretsFile, needs, description, left: leftAlone(found, description) };
}

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

async function carryOut(client: AdminClient, plan: Plan, options: ApplyOptions, io: Io): Promise<Outcome> {
  const { waves, steps, given, secretsFile } = plan;
  const makers = steps.filter(({ secret }) => secret === "made").map(({ id }) => id);
  const made = secretsFile?.keep(makers) ?? new Map<string, string>();
  const stopping = new AbortController();
  const stop = (): void => {
    if (!stopping.signal.aborted) io.err("Stopping; what is under way is brought to its end.\n");
    stopping.abort();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  let toldMs = performance.now();
  try {
    return await run(client, waves, {
      secretOf: (step) => (step.secret === "made" ? made.get(step.id) : given.get(step)),
      stopping: stopping.signal,
      progress(done, { kind }, last) {
        if (options.json || (!last && performance.now() - toldMs < TELL_EVERY_MS)) return;
        toldMs = performance.now();
        const count = String(done).padStart(String(steps.length).length);
        io.err(`  ${count} of ${steps.length}  ${KIND[kind].noun}s\n`);
      },
      surprised: (step) =>
        io.err(
          `${labelOf(step)} had no secret any more, and the one that it got is not kept: npm run plat -- client new-secret ${step.id}\n`,
        ),
    });
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

function showFailure(
  { done, failures, interrupted }: Outcome,
  { steps, description }: Plan,
  { file }: ApplyOptions,
): string {
  const lines: string[] = [];
  const placed = failures.flatMap(({ step, error }): Mistake[] => {
    const label = labelOf(step);
    if (error instanceof AdminRefusal && error.type !== "") {
      const [detail] = error.details;
      const place = placeOf(step, detail?.field ?? "", description);
      const named = error.details.map(({ message }) => message).filter((text) => !error.message.includes(text));
      const said = [error.message, ...named].join(" ");
      return [{ place, reason: `${label} was refused (${error.status} ${error.type}): ${said}` }];
    }
    if (error instanceof UserError)
      return [{ place: placeOf(step, "", description), reason: `${label}: ${error.message}` }];
    throw error;
  });
  lines.push(...showMistakes(file, placed));
  const finished = new Set(done);
  const open = steps.filter((step) => !finished.has(step));
  lines.push(
    `${interrupted ? "Interrupted. " : ""}Done: ${done.length} of ${steps.length} changes. Not done: ${open.length}:`,
  );
  lines.push(...open.slice(0, 10).map((step) => `  ${labelOf(step)}`), ...(open.length > 10 ? ["  …"] : []));
  lines.push("Run it again: it goes on with what is not done.", "");
  return lines.join("\n");
}

function placeOf({ wanted, kind, owner }: Step, field: string, { described }: Description): Place {
  return wanted?.at(field) ?? described.get(collectionOf(kind, owner)) ?? START;
}

const report = (steps: readonly Step[], done: readonly Step[], left: number): string => {
  const finished = new Set(done);
  const changes = steps.map((step) => {
    const { action, fields, secret } = step;
    const shown = fields.map(({ name, from, to }) => ({
      name,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }));
    return {
      action,
      path: labelOf(step),
      fields: shown,
      ...(secret !== "none" && { secret }),
      done: finished.has(step),
    };
  });
  return `${toJson({ changes, left })}\n`;
};
