import { authenticate } from "../../http/auth.ts";
import { problem, type Problem } from "../../http/errors.ts";
import { mayUse } from "../admission/admission.ts";
import { isPartOfRewritten, isUnreadable, readAnswer, toAnswer } from "../response/response.ts";
import type { Ending } from "../breaker/breakers.ts";
import { callerOf } from "../breaker/caller.ts";
import type { Admitted, Context, Passing } from "../context.ts";
import { forward, type Forwarded } from "./forward.ts";
import { LIMITS } from "../model/limits.ts";
import { isToRead, lengthOf, readHeaders, type MadeHeaders } from "../model/headers.ts";
import { tooLarge, unanswered, unavailable } from "../model/problems.ts";
import { carryWebSocket, CLOSINGS, type Closing } from "./web-socket.ts";

const RETRY_AFTER_SEC = 5;

/** Sends a request that was admitted to its service, unless that is left alone, and takes the answer. */
export async function exchange(
  passing: Admitted,
  target: string,
  headers: MadeHeaders,
  context: Context,
): Promise<Response | Problem> {
  const { call, service, method, given, principal } = passing;
  const { breakers, clock, log, timeoutMs } = context;
  const called = { service: `${service.name} ${service.sourceUrl}`, caller: callerOf(principal, given) };
  const admission = breakers.admit(called, clock.nowMs());
  if ("felt" in admission)
    return unanswered(
      service.name,
      Math.ceil(admission.retryAfterMs / 1000),
      `the breaker is open for ${admission.felt}`,
    );

  const body = isToRead(method) ? null : call.request.body;
  const sent = { target, method, headers, body, lengthBytes: lengthOf(given), timeoutMs };
  let forwarded = await forward(sent);
  const asksForPart = isToRead(method) && headers["range"] !== undefined;
  if (forwarded.kind === "answered" && asksForPart && isPartOfRewritten(forwarded.response)) {
    forwarded.response.body?.cancel().catch(() => undefined);
    forwarded = await forward({ ...sent, headers: withoutRange(headers) });
  }
  const reason = "why" in forwarded ? forwarded.why : undefined;
  for (const { felt, now } of breakers.settle(called, admission.passed, ENDINGS[forwarded.kind], clock.nowMs()))
    log.warn(`breaker ${now}`, { service: service.name, for: felt, requestId: call.requestId, reason });

  if (forwarded.kind !== "answered") await forwarded.rest?.();
  switch (forwarded.kind) {
    case "unreached":
    case "failed":
      return unanswered(service.name, RETRY_AFTER_SEC, forwarded.why);
    case "cut short":
      return unavailable(
        `The connection to the service ${service.name} was lost before it had taken the whole body.`,
        RETRY_AFTER_SEC,
        forwarded.why,
      );
    case "caller's fault":
      return forwarded.fault === "too large"
        ? tooLarge()
        : problem("bad_payload_syntax", "The body did not arrive whole.", { reason: "the caller broke off" });
    case "answered":
      return takeAnswer(forwarded, { ...passing, hasBody: body !== null }, context);
  }
}

const ENDINGS: Record<Forwarded["kind"], Ending> = {
  answered: "answered",
  unreached: "unreached",
  failed: "failed",
  "cut short": "broken off",
  "caller's fault": "broken off",
};

async function takeAnswer(
  { response, patience, rest }: Extract<Forwarded, { kind: "answered" }>,
  passing: Admitted & { readonly hasBody: boolean },
  context: Context,
): Promise<Response | Problem> {
  const { call, service, method, given, hasBody } = passing;
  const { names, log, pathPrefix, timeoutMs } = context;
  const { name, proxyPath, sourcePath } = service;
  const headers = readHeaders(response.headers, LIMITS.answerHeaderBytes);
  const answered = headers === undefined ? undefined : readAnswer(response, patience, headers);
  if (answered === undefined || isUnreadable(answered)) {
    response.body?.cancel().catch(() => undefined);
    await rest?.();
    const reason =
      answered === undefined
        ? `headers over ${LIMITS.answerHeaderBytes} bytes`
        : "its status, or a part or a coding that was not asked for";
    return unavailable(`The service ${name} gave an answer that cannot be passed on.`, RETRY_AFTER_SEC, reason);
  }
  const answer = await toAnswer(
    answered,
    { method, headers: given, hasBody },
    {
      names,
      rewriter: service.rewriterTo(`${call.publicBase}${proxyPath}`),
      apart: service.trusted ? undefined : { publicPath: `${pathPrefix}${proxyPath}`, sourcePath },
      idleMs: timeoutMs,
      carryWebSocket: (socket) => endWithToken(socket, passing, context),
      beforeEnd: rest,
      brokeOff: (thrown) =>
        log.warn("answer broke off", { service: name, requestId: call.requestId, reason: String(thrown) }),
    },
  );
  // Whether it did what it was asked nobody can tell.
  return answer ?? unavailable(`The service ${name} broke off its answer.`, RETRY_AFTER_SEC, "half an answer");
}

/** Without a token there is nothing that a WebSocket could end with: the runtime carries it. */
function endWithToken(socket: WebSocket, passing: Admitted, context: Context): WebSocket {
  const { principal } = passing;
  if (principal === undefined) return socket;
  const { clock } = context;
  const expiresAtMs = principal.expiresAtSec * 1000;
  return carryWebSocket(socket, { clock, expiresAtMs, whyEnd: () => whyEnd(passing, context) });
}

/** As the next request would be judged, and nothing is counted. */
async function whyEnd({ service, call, given }: Passing, context: Context): Promise<Closing | undefined> {
  const { names, verifier, access, registry } = context;
  const nowMs = context.clock.nowMs();
  const found = await registry.find(call.path, nowMs);
  if (found?.name !== service.name || found.sourceUrl !== service.sourceUrl) return CLOSINGS.gone;
  const caller = await authenticate(given.get("authorization"), verifier, names, nowMs);
  if (!caller.ok) return caller.error.type === "service_temporarily_unavailable" ? CLOSINGS.unknown : CLOSINGS.ended;
  return (await mayUse(caller.value, found, access, nowMs)) ? undefined : CLOSINGS.ended;
}

function withoutRange(headers: MadeHeaders): MadeHeaders {
  const { range: _, "if-range": __, ...whole } = headers;
  return whole;
}
