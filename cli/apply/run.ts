import { find, type AdminClient } from "../client/admin-client.ts";
import { RESOURCES } from "../resources/all.ts";
import type { Step } from "./difference.ts";
import { inParallel } from "./found.ts";
import { KIND, valuesOf } from "./kinds.ts";

/** What became of the steps. Whatever it was, the same run again goes on from there. */
export interface Outcome {
  readonly done: readonly Step[];
  /** The first that was not done, and why; others under way with it may follow. */
  readonly failures: readonly { readonly step: Step; readonly error: unknown }[];
  readonly interrupted: boolean;
}

export interface RunOptions {
  /** What to send with a step that has a secret. */
  secretOf(step: Step): string | undefined;
  /** Told after every step, with how many are done; `last` of its wave or not. */
  progress(done: number, step: Step, last: boolean): void;
  /** Told of a secret that the service made though none was asked for: it is shown once. */
  surprised(step: Step, secret: string): void;
  /** No step begins after it. */
  readonly stopping: AbortSignal;
}

/** Makes the calls, wave by wave. A refusal ends it when the calls under way have ended. Each call may be sent twice. */
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

async function send(client: AdminClient, step: Step, options: RunOptions): Promise<void> {
  const resource = RESOURCES[step.kind];
  // Gone already is gone: with its owner, or by another's hand.
  if (step.action === "remove") return find(resource.remove(client, valuesOf(step)));
  const name = KIND[step.kind].secret;
  const secret = options.secretOf(step);
  const body = { ...step.wanted?.fields, ...(name !== undefined && secret !== undefined && { [name]: secret }) };
  const answer = await resource.set(client, valuesOf(step), body);
  const made = step.kind === "clients" && secret === undefined ? answer["clientSecret"] : undefined;
  if (typeof made === "string") options.surprised(step, made);
}
