/**
 * What the gateway is measured against: a Worker that fetches from the service and answers what it got. No token is
 * looked at, no header removed or made, nothing is rewritten, counted or limited; the runtime moves the body by itself.
 *
 * Below `/gateway/v1` it does what a gateway is seen to do, by the fewest lines: the service is told who asks and by what
 * address, and its answer is read, rewritten and made anew with headers of its own. It checks nobody and looks nothing up;
 * no time runs, no limit holds, and what the headers say is made up.
 */
const PUBLIC = "/gateway/v1";
const SOME_ID = "0123456789abcdef0123456789abcdef";
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding", "content-length"]);
const OURS = new Set(["bench-service", "host", "accept-encoding"]);

export default {
  fetch(request) {
    const { pathname, origin } = new URL(request.url);
    const source = request.headers.get("bench-service") ?? "";
    if (!pathname.startsWith(`${PUBLIC}/`)) return fetch(`${source}${pathname}`, { redirect: "manual" });
    return forward(request, `${source}${pathname.slice(PUBLIC.length)}`, source, new URL(PUBLIC, origin));
  },
} satisfies ExportedHandler;

async function forward(request: Request, target: string, source: string, shown: URL): Promise<Response> {
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers) if (!OURS.has(name)) headers[name] = value;
  Object.assign(headers, {
    "accept-encoding": "identity",
    via: "1.1 bare-gateway",
    "x-forwarded-proto": shown.protocol.slice(0, -1),
    "x-forwarded-host": shown.host,
    "x-forwarded-prefix": PUBLIC,
    "bare-request-id": SOME_ID,
    "bare-session-id": SOME_ID,
  });
  if ("authorization" in headers) Object.assign(headers, { "bare-tenant": "bench", "bare-client": "bench.caller" });
  const response = await fetch(target, { headers, redirect: "manual" });
  const answered: Record<string, string> = {};
  for (const [name, value] of response.headers) if (!OF_THE_CONNECTION.has(name)) answered[name] = value;
  Object.assign(answered, {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "*",
    "bare-request-id": SOME_ID,
    "x-content-type-options": "nosniff",
  });
  if ("authorization" in headers) answered["cache-control"] = "no-cache, private";
  const body = (await response.text()).replaceAll(source, shown.href);
  return new Response(body, { status: response.status, headers: answered });
}
