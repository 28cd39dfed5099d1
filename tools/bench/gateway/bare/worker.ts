/**
 * The baseline: a Worker that fetches from the service and passes the answer on. It checks no token, changes no
 * header, rewrites, counts and limits nothing; the runtime moves the body by itself.
 *
 * Below `/gateway/v1` it does the visible work of a gateway in the fewest lines: it tells the service who asks and by
 * which address, reads and rewrites the answer, and makes it anew with its own headers. It checks nobody, looks
 * nothing up, has no timeouts or limits, and its headers hold made-up values.
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
