import { header as get, type Answer } from "./answer.ts";

/** What holds of every answer of the OAuth service, whatever was asked. */
type Law = (answer: Answer) => string | undefined;

/** Thrown with everything that is wrong, so that whichever test came across it fails. */
export function checkLaws(answer: Answer): void {
  if (!answer.path.startsWith("/oauth2/v1/")) return;
  const faults = LAWS.map((law) => law(answer)).filter((fault) => fault !== undefined);
  if (faults.length === 0) return;
  const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  throw new Error(
    `${faults.join("; ")}\n${answer.asked}\n${answer.status}\n${headers}\n\n${answer.text.slice(0, 2000)}`,
  );
}

const broken = (isBroken: boolean, what: string): string | undefined => (isBroken ? what : undefined);

/** Where people come with a browser. */
const PAGES = /^\/oauth2\/v1\/(authorize|sign-in|link-identity|end_session|callback\/[^/]+)$/;
/** Resources under a bearer token, which speak of failures as the platform's services do. */
const RESOURCES = /^\/oauth2\/v1\/(userinfo|refreshtokens(\/[^/]+)?)$/;
const PROTOCOL = /^\/oauth2\/v1\/(token|revoke|introspect|tokeninfo)$/;
const PUBLIC = /^\/oauth2\/v1\/(jwks|\.well-known\/openid-configuration)$/;

const isPage = ({ path }: Answer): boolean => PAGES.test(path);
const isHtml = (answer: Answer): boolean => get(answer, "content-type").startsWith("text/html");
const isFailure = ({ status }: Answer): boolean => status >= 400;
const isRedirect = ({ status }: Answer): boolean => status >= 300 && status < 400;
const isHead = ({ method }: Answer): boolean => method === "HEAD";

const LAWS: readonly Law[] = [
  ({ status }) => broken(status >= 500 || status < 200, "no status that a client may cause"),
  // RFC 9700 4.12: these would send a password on.
  ({ status }) => broken([301, 307, 308].includes(status), "a redirect that repeats the request"),
  (answer) => broken(!/^[0-9a-f]{32}$/.test(get(answer, "plat-request-id")), "no request id"),
  (answer) => broken(get(answer, "x-content-type-options") !== "nosniff", "not nosniff"),
  (answer) =>
    broken(!isHead(answer) && (answer.text === "") !== (get(answer, "content-type") === ""), "a body without a type"),
  (answer) => broken(answer.status === 405 && get(answer, "allow") === "", "405 without Allow"),
  (answer) => broken(answer.status === 429 && get(answer, "retry-after") === "", "429 without Retry-After"),
  crossOrigin,
  caching,
  redirects,
  pages,
  protocolFailures,
  platformFailures,
  challenges,
  cookies,
];

/** Contract 1.4, RFC 9700 2.6: services answer any origin, without credentials; pages none. */
function crossOrigin(answer: Answer): string | undefined {
  const [origin, names] = [
    get(answer, "access-control-allow-origin"),
    [...answer.headers.keys()].filter((name) => name.startsWith("access-control")),
  ];
  if (isPage(answer)) return broken(names.length > 0, "another origin may read it");
  const credentials = names.includes("access-control-allow-credentials");
  return broken(answer.method !== "OPTIONS" && (origin !== "*" || credentials), "wrong rules for other origins");
}

/** Pages say too that nobody on the way may rewrite them. */
const NOT_KEPT = /^no-store(, no-transform)?$/;

/** RFC 6749 5.1: nothing but what is public may be kept by anybody. */
function caching(answer: Answer): string | undefined {
  if (answer.method === "OPTIONS" || answer.text === "") return undefined;
  const kept = PUBLIC.test(answer.path) && answer.status === 200;
  return broken(!kept && !NOT_KEPT.test(get(answer, "cache-control")), "it may be kept");
}

function redirects(answer: Answer): string | undefined {
  if (!isRedirect(answer)) return broken(get(answer, "location") !== "", "a location without a redirect");
  return (
    broken(!isPage(answer), "a redirect that is no page's") ??
    broken(!/^[\x21-\x7e]+$/.test(get(answer, "location")), "no location, or one that is no address") ??
    broken(!NOT_KEPT.test(get(answer, "cache-control")), "it may be kept") ??
    broken(get(answer, "referrer-policy") !== "no-referrer", "it leaks by Referer") ??
    broken(answer.text !== "", "a redirect with a body")
  );
}

/** The one script of the pages: a file of our own, allowed by its exact address. */
export const OWN_SCRIPT = /<script [^>]*src="\/docs\/assets\/pages-[0-9a-f]{16}\.js"[^>]*><\/script>/;

/** Our own files, the page where a person goes on, and the one that explains errors to developers. */
const OWN_ADDRESS = /^(?:\/docs\/|https:\/\/platform\.example\/(?:account|docs\/errors\?request=[0-9a-f]{32})$)/;

/** RFC 9700 4.16 and 4.2.4: not framed, nothing of others loaded, nothing run. */
function pages(answer: Answer): string | undefined {
  if (!isHtml(answer)) return broken(isPage(answer) && isFailure(answer) && !isHead(answer), "people get no page");
  const policy = get(answer, "content-security-policy").split("; ");
  const loads = [...answer.text.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address);
  return (
    broken(!policy.includes("frame-ancestors 'none'") || get(answer, "x-frame-options") !== "DENY", "to be framed") ??
    broken(!policy.includes("default-src 'none'") || !policy.includes("base-uri 'none'"), "a loose policy") ??
    broken(get(answer, "referrer-policy") !== "no-referrer", "it leaks by Referer") ??
    broken(/<script|\son\w+=|javascript:/i.test(answer.text.replace(OWN_SCRIPT, "")), "it runs something") ??
    broken(!loads.every((address) => OWN_ADDRESS.test(address)), `it leads to ${loads.join(", ")}`)
  );
}

const sorted = (value: object): string => Object.keys(value).toSorted().join(" ");

/** RFC 6749 5.2, contract 2.7. */
function protocolFailures(answer: Answer): string | undefined {
  const { json } = answer;
  if (!PROTOCOL.test(answer.path) || !isFailure(answer) || isHead(answer)) return undefined;
  return (
    broken(get(answer, "content-type") !== "application/json", "no JSON") ??
    broken(sorted(json ?? {}) !== "error error_description error_uri", "not the shape of a failure") ??
    broken(!/^[a-z_]+$/.test(json.error), "no error code") ??
    broken(
      !/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(json.error_description),
      "no description of the RFC's characters",
    ) ??
    broken(!json.error_uri.endsWith(get(answer, "plat-request-id")), "error_uri does not name the request")
  );
}

/** Contract 1.2. */
function platformFailures(answer: Answer): string | undefined {
  const { json } = answer;
  if (!RESOURCES.test(answer.path) || !isFailure(answer) || isHead(answer)) return undefined;
  // RFC 6750's words for it besides, where a token came twice.
  const isObject = /^details (error error_description )?message moreInfo status type$/.test(sorted(json ?? {}));
  return broken(!isObject || json.status !== answer.status, "not the platform's error object");
}

/** RFC 6749 5.2, RFC 6750 3, RFC 9449 7.1. */
function challenges(answer: Answer): string | undefined {
  const challenge = get(answer, "www-authenticate");
  if (answer.status !== 401) return undefined;
  return broken(
    !(PROTOCOL.test(answer.path) ? /^Basic / : /^(?:Bearer|DPoP) /).test(challenge),
    "401 without its challenge",
  );
}

/** As RFC 6265bis 4.1.3.2 wants of `__Host-`. */
function cookies(answer: Answer): string | undefined {
  const lines = get(answer, "set-cookie");
  if (lines === "") return undefined;
  const sound =
    /^__Host-plat_(browser|session|device)=[\w.~-]*; Path=\/; HttpOnly; SameSite=Lax; Secure(; Max-Age=(0|31536000))?$/;
  return broken(!isPage(answer) || !lines.split("\n").every((line) => sound.test(line)), "a cookie that is not safe");
}
