import { sanitizeForLog } from "../../src/platform/text/text.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { AdminRefusal, type RefusalDetail } from "../client/admin-client.ts";
import { failureLine, ownFailure, type Failure, toFailure } from "../command-line/report.ts";
import { clean } from "../terminal/values.ts";
import { collectionOf, type Description } from "./check.ts";
import type { Step } from "./difference.ts";
import { labelOf } from "./kinds.ts";
import { inOrder, REASON_CHARS, showMistakes, START, type Mistake, type Place } from "./mistake.ts";
import type { Outcome } from "./run.ts";

/** A detail of a failure with its place in the file. */
interface PlacedDetail extends RefusalDetail {
  readonly place: Place;
}

/** Reports why nothing was sent. */
export function sayMistakes(file: string, mistakes: readonly Mistake[], asJson: boolean): string {
  const count = mistakes.length === 1 ? "One mistake" : `${mistakes.length} mistakes`;
  const message = `${count}; nothing was sent.`;
  if (!asJson) return `${showMistakes(file, mistakes).join("\n")}\n${message}\n`;
  const details = [...mistakes].sort(inOrder).map(({ place, reason }): PlacedDetail => {
    return { type: "mistake", field: "", message: sanitizeForLog(reason, REASON_CHARS), place };
  });
  return failureLine(ownFailure("file_refused", `${file}: ${message}`, details));
}

/** Reports an early end: the reason, the finished and the open steps. */
export function sayUnfinished(
  { done, failures, interrupted }: Outcome,
  steps: readonly Step[],
  file: string,
  description: Description,
  asJson: boolean,
): string {
  const finished = new Set(done);
  const open = steps.filter((step) => !finished.has(step));
  const counted = `Done: ${done.length} of ${changes(steps.length)}.`;
  if (asJson) {
    const whole = `${file}: ${interrupted ? "Interrupted. " : ""}${counted} Run it again: it goes on with what is not done.`;
    return failureLine(inOne(failures, whole, description));
  }
  return [
    ...showMistakes(
      file,
      failures.map(({ step, error }) => toMistake(step, error, description)),
    ),
    `${interrupted ? "Interrupted. " : ""}${counted} Not done: ${open.length}:`,
    ...open.slice(0, 10).map((step) => `  ${labelOf(step)}`),
    ...(open.length > 10 ? ["  …"] : []),
    "Run it again: it goes on with what is not done.",
    "",
  ].join("\n");
}

export const changes = (count: number): string => (count === 1 ? "1 change" : `${count} changes`);

function toMistake(step: Step, error: unknown, description: Description): Mistake {
  const label = labelOf(step);
  if (error instanceof AdminRefusal && error.type !== "") {
    const named = error.details.map(({ message }) => message).filter((text) => !error.message.includes(text));
    const said = [error.message, ...named].join(" ");
    const place = placeOf(step, error.details[0]?.field ?? "", description);
    return { place, reason: `${label} was refused (${error.status} ${error.type}): ${said}` };
  }
  if (error instanceof UserError)
    return { place: placeOf(step, "", description), reason: `${label}: ${error.message}` };
  throw error;
}

/** Combines failures. Status, type and request id are those of the first one; the others were in flight with it. */
function inOne(failures: Outcome["failures"], message: string, description: Description): Failure {
  const [first] = failures;
  if (first === undefined) return ownFailure("interrupted", message);
  const details = failures.map(({ step, error }): PlacedDetail => {
    const { place, reason } = toMistake(step, error, description);
    return { type: toFailure(error, true).type, field: labelOf(step), message: clean(reason), place };
  });
  return { ...toFailure(first.error, true), message, details };
}

function placeOf({ wanted, kind, owner }: Step, field: string, { described }: Description): Place {
  return wanted?.at(field) ?? described.get(collectionOf(kind, owner)) ?? START;
}
