import { UserError } from "../../scripts/lib/user-error.ts";
import { PlinthError } from "../../packages/sdk/src/index.ts";
import { AdminRefusal, type RefusalDetail } from "../client/admin-client.ts";
import { Interrupted } from "../terminal/stop.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { Io } from "../terminal/io.ts";
import { toUnreachable, Unreachable } from "../client/send.ts";
import { clean, toJson } from "../terminal/values.ts";

interface Asked {
  /** The command's words, as far as they were understood. */
  readonly path: readonly string[];
  /** True if the command changes something on the platform. */
  readonly changes: boolean;
  readonly asJson: boolean;
  /** Commands in the words of this program. */
  advise(text: string): string;
}

/** Reports why a command ended, as text or as one line of JSON, and returns the exit code. */
export function report(error: unknown, { path, changes, asJson, advise }: Asked, { err, paintErr }: Io): number {
  if (isUnread(error) && !changes) return 0;
  error = error instanceof PlinthError ? ofOwnKind(error) : error;
  if (asJson) {
    const failure = toFailure(error, changes);
    err(failureLine({ ...failure, message: advise(failure.message) }));
  } else if (error instanceof AdminRefusal) err(`${refusalLines(error, paintErr).join("\n")}\n`);
  else {
    const hint =
      error instanceof UsageError ? paintErr.dim(`${path.join(" ")} --help tells more.`) : hintOf(error, changes);
    err(`${paintErr.red("✗")} ${advise(sentenceOf(error))}\n${hint === undefined ? "" : `  ${hint}\n`}`);
  }
  if (error instanceof Interrupted) return error.exitCode;
  return error instanceof UsageError ? 2 : 1;
}

/** An error of the SDK as one of the command line. */
function ofOwnKind(error: PlinthError): Error {
  if (error.status > 0) return toRefusal(error);
  const { cause, message } = error;
  const found = cause instanceof Unreachable ? cause : toUnreachable(cause, message.replace(/\.$/, ""));
  return found instanceof Unreachable ? found : error;
}

const toRefusal = ({ status, type, message, details, requestId }: PlinthError): AdminRefusal =>
  new AdminRefusal(
    status,
    type,
    message,
    details.map(({ type: kind, field = "", message: why = "" }) => ({ type: kind, field, message: why })),
    requestId,
  );

/** `changes`: the command changes something. */
export function toFailure(error: unknown, changes: boolean): Failure {
  if (error instanceof AdminRefusal) return error;
  const message = sentenceOf(error);
  if (error instanceof Unreachable) {
    // The kind tells a program whether the call may have been carried out.
    const { kind, reason } = error;
    return ownFailure("no_answer", message, [{ type: kind, field: "", message: hintOf(error, changes) ?? reason }]);
  }
  if (error instanceof Interrupted) return ownFailure("interrupted", message);
  return ownFailure(error instanceof UsageError ? "not_understood" : "failed", message);
}

/** A bug shows its stack. */
function sentenceOf(error: unknown): string {
  if (isUnread(error)) return "The output was closed early. Check which changes were made.";
  if (error instanceof UserError || error instanceof PlinthError) return clean(error.message);
  if (isOfSystem(error)) return `The system refused it: ${clean(error.message)}.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Advice for the person. */
function hintOf(error: unknown, changes: boolean): string | undefined {
  if (isOfSystem(error)) return changes ? "Check which changes were made." : undefined;
  if (!(error instanceof Unreachable)) return undefined;
  if (error.kind === "refused") return "Start it first: npm start. (PORT, PLINTH_URL or --url choose another one.)";
  return error.kind === "lost" && changes ? "It may have been done. Check before you repeat it." : undefined;
}

/** A full disk, a missing folder, a file that may not be read: no bug. */
const isOfSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && "code" in error && !isUnread(error);

/** The reader of the output is gone. */
const isUnread = (error: unknown): boolean =>
  error instanceof Error && /^(EPIPE|ERR_STREAM_DESTROYED)$/.test((error as NodeJS.ErrnoException).code ?? "");

function refusalLines({ status, message, details, requestId }: AdminRefusal, paint: Io["paintErr"]): readonly string[] {
  // A detail that the message contains is left out.
  const isList = details.length > 1 && message === details.map((detail) => detail.message).join(" ");
  const told = isList ? details : details.filter((detail) => !message.includes(detail.message));
  return [
    `${paint.red("✗")} ${isList ? `${details.length} values are wrong.` : clean(message)} ${paint.dim(`(${status})`)}`,
    ...told.map(
      ({ field, message: why }) => `  ${field === "" || why.startsWith(field) ? "" : `${clean(field)}: `}${clean(why)}`,
    ),
    ...(requestId === "" ? [] : [`  ${paint.dim(`request ${clean(requestId)}`)}`]),
  ];
}

/**
 * The reason for a failure as programs read it (`--json`): the service's problem, or one of the command line's own in
 * the same form. It is the last line of the standard error.
 */
export interface Failure {
  /** The HTTP status; 0 if the failure is not the service's. */
  readonly status: number;
  /** The service's type, or `no_answer`, `not_understood`, `file_refused`, `interrupted`, `failed`. */
  readonly type: string;
  readonly message: string;
  readonly details: readonly RefusalDetail[];
  /** Empty without an answer. */
  readonly requestId: string;
}

export const failureLine = ({ status, type, message, details, requestId }: Failure): string =>
  `${toJson({ status, type, message, details, requestId })}\n`;

/** A failure of the command line itself. */
export const ownFailure = (type: string, message: string, details: readonly RefusalDetail[] = []): Failure => ({
  status: 0,
  type,
  message,
  details,
  requestId: "",
});
