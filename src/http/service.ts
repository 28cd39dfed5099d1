import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Principal, TokenVerifier } from "./auth.ts";
import type { Problem } from "./errors.ts";
import type { Limits, AnonymousUse } from "./limits.ts";
import type { SeparateHost, Origins } from "./origins.ts";
import type { Route } from "./route.ts";

/** What a room hands to `mount.ts`: its routes, and what all of them have in common. */
export interface HttpDeps extends Origins {
  readonly names: Names;
  readonly pathPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly verifier: TokenVerifier;
  readonly limits: Limits;
}

export interface Service {
  /** `/media/v2`, put behind the path prefix unless `atRoot`. */
  readonly base: string;
  /** For the well-known address of RFC 8414, which starts at the root whatever the prefix. */
  readonly atRoot?: boolean;
  readonly routes: readonly Route[];
  /** The host that it has where one is set apart for it, or `any`: every host. Absent: the service's alone. */
  readonly host?: SeparateHost | "any";
  /** How this service writes its failures; the platform's error object where absent. */
  readonly renderProblem?: ProblemRenderer;
  /** Pages answer no other origin (contract 1.4). */
  readonly crossOrigin: boolean;
  /** How those count who ask without a token; `requests` where absent. */
  readonly anonymousUse?: AnonymousUse;
  /** Refuses a request before anything of it is read. */
  readonly guard?: (request: Request) => Promise<Problem | undefined>;
  /** Headers of every answer of this service. */
  readonly decorate?: (headers: Headers, url: URL, status: number) => void;
}

export type ProblemRenderer = (given: Problem, docsUrl: string, requestId: string, asked: RenderContext) => Response;

/** What was asked, for a renderer that answers people. */
export interface RenderContext {
  readonly request: Request;
  readonly publicBase: string;
}

/**
 * Answers below the path prefix where no route does; undefined: nothing is there. It finds out who calls by itself, and
 * decides what other origins may read of its answers. A problem is rendered as everybody's.
 */
export type Fallback = (call: FallbackCall) => Promise<Response | Problem | undefined>;

export interface FallbackCall {
  readonly request: Request;
  /** The request's address with the public origin. */
  readonly url: URL;
  /** `{origin}{PATH_PREFIX}`, without a slash at the end. */
  readonly publicBase: string;
  /** Below the prefix, as it was sent: percent-encoded. */
  readonly path: string;
  readonly requestId: string;
  readonly nowMs: number;
  /** Work that may go on after the answer; its failure is logged. */
  waitUntil(work: Promise<unknown>): void;
  /** Who calls, for the log and the answer's headers. */
  onIdentified(caller: Principal): void;
}
