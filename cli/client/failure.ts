import type { RefusalDetail } from "./admin-client.ts";
import { toJson } from "../output/values.ts";

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
