import { jwtVerify, SignJWT } from "jose";
import { theKeys } from "../../lib/worker-keys.ts";

/**
 * The baseline: a Worker that fetches from the service and passes the answer on. It checks no token, changes no
 * header, rewrites, counts and limits nothing; the runtime moves the body by itself.
 *
 * Below `/gateway/v1` it does the visible work of a gateway in the fewest lines: it tells the service who asks and by
 * which address, reads and rewrites the answer, and makes it anew with its own headers. It checks nobody, looks
 * nothing up, has no timeouts or limits, and its headers hold made-up values.
 *
 * Below `/guarded/v1` it also does what keeps a platform safe: it gives up a service that does not answer, takes no
 * answer out of a cache, and verifies the caller's token. It still looks nothing up, and counts and limits nothing.
 */
const PUBLIC = "/gateway/v1";
const GUARDED = "/guarded/v1";
const SOME_ID = "0123456789abcdef0123456789abcdef";
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding", "content-length"]);
const OURS = new Set(["bench-service", "host", "accept-encoding"]);
const TIMEOUT_MS = 30_000;

export default {
  async fetch(request) {
    const { pathname, origin } = new URL(request.url);
    if (pathname === "/token") return new Response(await makeToken());
    const source = request.headers.get("bench-service") ?? "";
    const place = [PUBLIC, GUARDED].find((path) => pathname.startsWith(`${path}/`));
    if (place === undefined) return fetch(`${source}${pathname}`, { redirect: "manual" });
    if (place === GUARDED && !(await isAllowed(request.headers.get("authorization"))))
      return new Response(null, { status: 401 });
    const guards = place === GUARDED ? { signal: AbortSignal.timeout(TIMEOUT_MS), cf: { cacheTtl: -1 } } : {};
    const target = `${source}${pathname.slice(place.length)}`;
    return forward(request, { target, source, shown: new URL(place, origin), guards });
  },
} satisfies ExportedHandler;

/** A token about as long as the platform's. */
const makeToken = async (): Promise<string> =>
  new SignJWT({ scope: "s".repeat(400) })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt" })
    .setExpirationTime("1h")
    .sign((await theKeys()).privateKey);

/** Without a token, the service is public. */
async function isAllowed(authorization: string | null): Promise<boolean> {
  if (authorization === null) return true;
  const { publicKey } = await theKeys();
  const options = { algorithms: ["ES256"], typ: "at+jwt" };
  return jwtVerify(authorization.slice("Bearer ".length), publicKey, options).then(
    () => true,
    () => false,
  );
}

interface Forwarded {
  readonly target: string;
  readonly source: string;
  readonly shown: URL;
  readonly guards: RequestInit;
}

async function forward(request: Request, { target, source, shown, guards }: Forwarded): Promise<Response> {
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers) if (!OURS.has(name)) headers[name] = value;
  Object.assign(headers, {
    "accept-encoding": "identity",
    via: "1.1 bare-gateway",
    "x-forwarded-proto": shown.protocol.slice(0, -1),
    "x-forwarded-host": shown.host,
    "x-forwarded-prefix": shown.pathname,
    "bare-request-id": SOME_ID,
    "bare-session-id": SOME_ID,
  });
  if ("authorization" in headers) Object.assign(headers, { "bare-tenant": "bench", "bare-client": "bench.caller" });
  const response = await fetch(target, { headers, redirect: "manual", ...guards });
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
