import { UserError } from "../../scripts/lib/user-error.ts";
import { AdminRefusal, type RefusalDetail } from "../client/admin-client.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { Io } from "../terminal/io.ts";
import { Unreachable } from "../client/send.ts";
import { clean, toJson } from "../terminal/values.ts";

interface Asked {
  /** The words of the command, as far as they were understood. */
  readonly path: readonly string[];
  /** Whether the command changes something on the platform. */
  readonly changes: boolean;
  readonly asJson: boolean;
}

/** Says why a command ended, in words for people or in one line of JSON, and gives its exit code. */
export function report(error: unknown, { path, changes, asJson }: Asked, { err, paintErr }: Io): number {
  if (isUnread(error) && !changes) return 0;
  if (asJson) err(failureLine(toFailure(error, changes)));
  else if (error instanceof AdminRefusal) err(`${refusalLines(error, paintErr).join("\n")}\n`);
  else {
    const hint =
      error instanceof UsageError ? paintErr.dim(`${path.join(" ")} --help tells more.`) : hintOf(error, changes);
    err(`${paintErr.red("✗")} ${sentenceOf(error)}\n${hint === undefined ? "" : `  ${hint}\n`}`);
  }
  return error instanceof UsageError ? 2 : 1;
}

/** `changes`: the command does more than tell. */
export function toFailure(error: unknown, changes: boolean): Failure {
  if (error instanceof AdminRefusal) return error;
  const message = sentenceOf(error);
  if (error instanceof Unreachable) {
    // By its kind a program knows whether it was perhaps done.
    const { kind, reason } = error;
    return ownFailure("no_answer", message, [{ type: kind, field: "", message: hintOf(error, changes) ?? reason }]);
  }
  return ownFailure(error instanceof UsageError ? "not_understood" : "failed", message);
}

/** Of a bug all that there is. */
function sentenceOf(error: unknown): string {
  if (isUnread(error)) return "Nobody reads the output any more, so it ended here: look at what was done.";
  if (error instanceof UserError) return clean(error.message);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What to do. */
function hintOf(error: unknown, changes: boolean): string | undefined {
  if (!(error instanceof Unreachable)) return undefined;
  if (error.kind === "refused") return "Start it first: npm start. (PORT, PLINTH_URL or --url say which one is meant.)";
  return error.kind === "lost" && changes
    ? "It may have been done all the same: look before you do it again."
    : undefined;
}

/** Of the output: whoever read it stopped. */
const isUnread = (error: unknown): boolean =>
  error instanceof Error && /^(EPIPE|ERR_STREAM_DESTROYED)$/.test((error as NodeJS.ErrnoException).code ?? "");

function refusalLines({ status, message, details, requestId }: AdminRefusal, paint: Io["paintErr"]): readonly string[] {
  // A detail that says the message again is told by its field alone.
  const told = details.filter((detail) => detail.message !== message || detail.field !== "");
  return [
    `${paint.red("✗")} ${clean(message)} ${paint.dim(`(${status})`)}`,
    ...told.map(({ field, message: why }) => `  ${field === "" ? "" : `${clean(field)}: `}${clean(why)}`),
    ...(requestId === "" ? [] : [`  ${paint.dim(`request ${clean(requestId)}`)}`]),
  ];
}

/**
 * Why a command did not do what it was told, for programs (`--json`): the service's refusal, or in its form (contract 1.2)
 * what the command line itself has to say. It is one line, the last of the standard error.
 */
export interface Failure {
  /** The service's; 0: this is not its word. */
  readonly status: number;
  /** The service's, or `no_answer`, `not_understood`, `file_refused`, `interrupted`, `failed`. */
  readonly type: string;
  readonly message: string;
  readonly details: readonly RefusalDetail[];
  /** Empty where there was no answer. */
  readonly requestId: string;
}

export const failureLine = ({ status, type, message, details, requestId }: Failure): string =>
  `${toJson({ status, type, message, details, requestId })}\n`;

/** What is not the service's word. */
export const ownFailure = (type: string, message: string, details: readonly RefusalDetail[] = []): Failure => ({
  status: 0,
  type,
  message,
  details,
  requestId: "",
});
