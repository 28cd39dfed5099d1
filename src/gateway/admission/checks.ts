/** A browser asks before it sends (CORS); no token can be in that, and the answer is the same for every service. */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const TOKENS = /^[!#$%&'*+.^_`|~0-9A-Za-z, -]{1,4096}$/;
const MAX_AGE_SEC = 7200;

/** Any origin without credentials, any method, and whatever headers: the gateway passes them on (contract 1.4). */
export function answerPreflight({ headers }: Request): Response {
  const method = headers.get("access-control-request-method") ?? "";
  const asked = headers.get("access-control-request-headers") ?? "";
  const allowed = new Headers({
    "access-control-allow-origin": "*",
    "access-control-allow-methods":
      TOKEN.test(method) && !METHODS.split(", ").includes(method) ? `${METHODS}, ${method}` : METHODS,
    "access-control-max-age": String(MAX_AGE_SEC),
    vary: "Access-Control-Request-Method, Access-Control-Request-Headers",
  });
  if (TOKENS.test(asked)) allowed.set("access-control-allow-headers", asked);
  return new Response(null, { status: 204, headers: allowed });
}
