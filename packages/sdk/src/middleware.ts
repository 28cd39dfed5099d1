import { PlinthError } from "./errors.ts";
import { createTokenVerifier, type Caller, type VerifierOptions } from "./verify-token.ts";

/**
 * Token checks for web frameworks. Each lets a request pass with its caller, or answers it: 401 without a valid token,
 * 403 without the scope, 503 while the platform's keys cannot be fetched. No framework is imported.
 *
 *   Hono      app.use("/api/*", honoAuth({ url, scope: "notes.read" }));         c.get("caller")
 *   Express   app.use("/api", expressAuth({ url }));                             request.caller
 *   Fastify   app.addHook("onRequest", fastifyAuth({ url }));                    request.caller
 *   Next.js   export const GET = withAuth({ url }, (request, caller) => …);
 */
export interface AuthOptions extends VerifierOptions {
  /** A scope that every caller needs. */
  readonly scope?: string;
}

/** A refusal that is ready to be sent. */
interface Refused {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly status: number; readonly type: string; readonly message: string };
}

type Outcome = { readonly caller: Caller } | { readonly refused: Refused };

function createCheck(options: AuthOptions): (authorization: string | null | undefined) => Promise<Outcome> {
  const verify = createTokenVerifier(options);
  const { scope } = options;
  return async (authorization) => {
    try {
      const caller = await verify(authorization);
      if (scope === undefined || caller.scopes.has(scope)) return { caller };
      const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
      return refuse(403, "insufficient_permissions", `This needs a token with the scope ${scope}.`, {
        "www-authenticate": challenge,
      });
    } catch (thrown) {
      if (!(thrown instanceof PlinthError)) throw thrown;
      if (thrown.status !== 401)
        return refuse(503, "service_temporarily_unavailable", "Tokens cannot be checked at the moment.", {
          "retry-after": "5",
        });
      const hasToken = (authorization ?? "") !== "";
      return refuse(401, thrown.type, thrown.message, {
        "www-authenticate": hasToken ? 'Bearer error="invalid_token"' : "Bearer",
      });
    }
  };
}

const refuse = (status: number, type: string, message: string, headers: Record<string, string>): Outcome => ({
  refused: { status, headers, body: { status, type, message } },
});

interface HonoContext {
  readonly req: { header(name: string): string | undefined };
  set(key: "caller", value: Caller): void;
}

export function honoAuth(options: AuthOptions) {
  const check = createCheck(options);
  return async (context: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    const outcome = await check(context.req.header("authorization"));
    if ("refused" in outcome) return toResponse(outcome.refused);
    context.set("caller", outcome.caller);
    await next();
    return undefined;
  };
}

interface NodeRequest {
  readonly headers: { readonly authorization?: string | undefined };
  caller?: Caller;
}
interface ExpressResponse {
  status(code: number): ExpressResponse;
  set(headers: Readonly<Record<string, string>>): ExpressResponse;
  json(body: unknown): unknown;
}

export function expressAuth(options: AuthOptions) {
  const check = createCheck(options);
  return async (request: NodeRequest, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    try {
      const outcome = await check(request.headers.authorization);
      if ("refused" in outcome) {
        const { status, headers, body } = outcome.refused;
        response.status(status).set(headers).json(body);
        return;
      }
      request.caller = outcome.caller;
    } catch (thrown) {
      next(thrown);
      return;
    }
    next();
  };
}

interface FastifyReply {
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  send(body: unknown): FastifyReply;
}

export function fastifyAuth(options: AuthOptions) {
  const check = createCheck(options);
  return async (request: NodeRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const outcome = await check(request.headers.authorization);
    if ("refused" in outcome) {
      const { status, headers, body } = outcome.refused;
      return reply
        .code(status)
        .headers({ ...headers })
        .send(body);
    }
    request.caller = outcome.caller;
    return undefined;
  };
}

/** Wraps a handler of `Request` and `Response`: Next.js route handlers, Workers, Deno, Bun. */
export function withAuth<Rest extends unknown[]>(
  options: AuthOptions,
  handle: (request: Request, caller: Caller, ...rest: Rest) => Response | Promise<Response>,
) {
  const check = createCheck(options);
  return async (request: Request, ...rest: Rest): Promise<Response> => {
    const outcome = await check(request.headers.get("authorization"));
    return "refused" in outcome ? toResponse(outcome.refused) : handle(request, outcome.caller, ...rest);
  };
}

const toResponse = ({ status, headers, body }: Refused): Response => Response.json(body, { status, headers });
