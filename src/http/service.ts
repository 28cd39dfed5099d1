import type { Clock } from "../platform/runtime/clock.ts";
import type { Log } from "../platform/runtime/log.ts";
import type { MeteredService } from "../platform/ports/metrics.ts";
import type { Names } from "../platform/model/names.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { Tracing } from "../platform/ports/tracing.ts";
import type { Principal, TokenVerifier } from "./callers/auth.ts";
import type { Problem } from "./errors/errors.ts";
import type { Maintenance } from "./maintenance.ts";
import type { Limits, AnonymousUse } from "./callers/limits.ts";
import type { SeparateHost, Origins } from "./origins.ts";
import type { RequestMeter } from "./request-meter.ts";
import type { Route } from "./route.ts";
import type { WaitUntil } from "../platform/runtime/wait-until.ts";

/** Dependencies of the pipeline. */
export interface HttpDeps extends Origins {
  readonly names: Names;
  readonly pathPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly verifier: TokenVerifier;
  readonly limits: Limits;
  /** Set while the platform is maintained. */
  readonly maintenance?: Maintenance | undefined;
  /** A page for a person at an address of the common host that nothing answers; undefined: the error object. */
  readonly nothingHere?: (request: Request, publicBase: string) => Response | undefined;
  readonly meter: RequestMeter;
  readonly tracing: Tracing;
}

/** Routes with a common base, and the settings that they share. */
export interface Service {
  /** The service that its requests are counted for. */
  readonly name: MeteredService;
  /** `/media/v2`, after the path prefix unless `atRoot`. */
  readonly base: string;
  /** For the well-known address of RFC 8414, which starts at the root even with a prefix. */
  readonly atRoot?: boolean;
  readonly routes: readonly Route[];
  /** The separate host of the service, if one is configured; `any`: every host; absent: only the common host. */
  readonly host?: SeparateHost | "any";
  /** Renders the service's errors; absent: as the platform's error object. */
  readonly renderProblem?: ProblemRenderer;
  /** False for pages, which answer no other origin. */
  readonly crossOrigin: boolean;
  /** The rate limit for callers without a token; absent: `requests`. */
  readonly anonymousUse?: AnonymousUse;
  /** Refuses a request before its token and input are read. */
  readonly guard?: (request: Request) => Promise<Problem | undefined>;
  /** Sets headers of every response of this service. */
  readonly decorate?: (headers: Headers, url: URL, status: number) => void;
}

export type ProblemRenderer = (given: Problem, docsUrl: string, requestId: string, asked: RenderContext) => Response;

/** The request, for a renderer that answers people. */
interface RenderContext {
  readonly request: Request;
  readonly publicBase: string;
}

/**
 * Answers below the path prefix if no route matches; undefined: 404. It authenticates the caller and sets cross-origin
 * headers itself. A problem is rendered as the platform's error object.
 */
export type Fallback = (call: FallbackCall) => Promise<Response | Problem | undefined>;

export interface FallbackCall {
  readonly request: Request;
  /** The request's address with the public origin. */
  readonly url: URL;
  /** `{origin}{PATH_PREFIX}`, without a slash at the end. */
  readonly publicBase: string;
  /** The path below the prefix, percent-encoded as it was sent. */
  readonly path: string;
  readonly requestId: string;
  readonly nowMs: number;
  /** Lets work continue after the response; its failure is logged. */
  readonly waitUntil: WaitUntil;
  /** Reports the caller, for the log and the response's headers. */
  onIdentified(caller: Principal): void;
}
