import { UserError } from "../../scripts/lib/user-error.ts";
import { find, type AdminClient } from "../client/admin-client.ts";
import { RESOURCES } from "../resources/all.ts";
import type { Step } from "./difference.ts";
import { inParallel, isStill } from "./found.ts";
import { KIND, valuesOf } from "./kinds.ts";

/** The result of the steps. The next run continues from there. */
export interface Outcome {
  readonly done: readonly Step[];
  /** The first failed step, and others that were in flight with it. */
  readonly failures: readonly { readonly step: Step; readonly error: unknown }[];
  readonly interrupted: boolean;
}

export interface RunOptions {
  /** The secret to send with a step. */
  secretOf(step: Step): string | undefined;
  /** Called after each step, with the number of finished steps. `last`: the step was the last one of its wave. */
  progress(done: number, step: Step, last: boolean): void;
  /** Called if the service generated a secret by itself, which it shows only once. */
  surprised(step: Step, secret: string): void;
  /** Stops new steps. */
  readonly stopping: AbortSignal;
}

/** Makes the calls, wave by wave. A refusal ends the run after the calls in flight. Every call may be repeated. */
export async function run(
  client: AdminClient,
  waves: readonly (readonly Step[])[],
  options: RunOptions,
): Promise<Outcome> {
  const done: Step[] = [];
  const failures: { step: Step; error: unknown }[] = [];
  for (const wave of waves) {
    const doneBefore = done.length;
    await inParallel(wave, async (step) => {
      if (failures.length > 0 || options.stopping.aborted) return;
      try {
        await send(client, step, options);
        done.push(step);
        options.progress(done.length, step, done.length === doneBefore + wave.length);
      } catch (error) {
        failures.push({ step, error });
      }
    });
    if (failures.length > 0 || options.stopping.aborted) break;
  }
  const steps = waves.reduce((count, wave) => count + wave.length, 0);
  return { done, failures, interrupted: failures.length === 0 && done.length < steps };
}

/**
 * Sends a step, unless somebody changed its record since it was compared, to something else than what the file says.
 * The record is read again for that, because lists have no ETags.
 */
async function send(client: AdminClient, step: Step, options: RunOptions): Promise<void> {
  const resource = RESOURCES[step.kind];
  const values = valuesOf(step);
  const { found, wanted } = step;
  const now = found && (await resource.find(client, values));
  const isAsked = now !== undefined && wanted !== undefined && resource.isLike(now.record, wanted.fields);
  // Already removed, with its owner or by somebody else.
  if (step.action === "remove" && now === undefined) return;
  if (found !== undefined && !isAsked && !isStill(found, now?.record))
    throw new UserError("somebody else changed it since it was compared; nothing was sent.");
  if (step.action === "remove") return find(resource.remove(client, values, now));
  const name = KIND[step.kind].secret;
  const secret = options.secretOf(step);
  const body = { ...wanted?.fields, ...(name !== undefined && secret !== undefined && { [name]: secret }) };
  const answer = await resource.set(client, values, body, now, "orSame");
  const made = step.kind === "clients" && secret === undefined ? answer["clientSecret"] : undefined;
  if (typeof made === "string") options.surprised(step, made);
}
