import { setTimeout as sleep } from "node:timers/promises";
import type { Cloudflare } from "./cloudflare.ts";
import type { Deployment } from "./deployment.ts";
import type { FoundHost } from "./found.ts";
import type { Ask } from "./reach.ts";

/**
 * Checks a deployed platform in seconds and leaves nothing behind: it runs, it has the name in the file, its database
 * answers, its operator gets a token, deep health finds its parts working, and no setting of the zone refuses programs.
 */
export interface Check {
  readonly name: string;
  /** The fault and its remedy; undefined: the check passed. */
  readonly fault: string | undefined;
  /** The check was not possible, since the token lacks the right. */
  readonly unknown?: boolean;
}

interface SmokeTarget {
  readonly ask: Ask;
  readonly deployment: Deployment;
  /** Undefined: it is not known here, so checks that need it are left out. */
  readonly operatorSecret: string | undefined;
  /** It was in maintenance before this deployment, so what works in the background has waited. */
  readonly hasRested?: boolean;
  /** Time between two questions for the same. */
  readonly pauseMs?: number;
}

/**
 * What fails is asked again, for longer than objects take to get the new code (apply.ts), where an object that restarts
 * does not answer, or an isolate of the version before still does.
 */
const PATIENCE = { attempts: 5, pauseMs: 10_000 };

/** User agents of programs. Browser Integrity Check is known to refuse some of them. */
const PROGRAMS = ["Python-urllib/3.13", "libwww-perl/6.77", "Go-http-client/2.0", "curl/8.16.0", ""];
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const SEE_ZONE = 'See "Zone features" in docs/operate/deploy.md.';
/** A page with an e-mail address. */
const PAGE = "/docs/quickstart";
/** Traces of Cloudflare's changes to a page: obfuscated addresses, bot detection, analytics, Rocket Loader. */
const INJECTED = /\/cdn-cgi\/|data-cfemail|__cf_email__|cloudflareinsights\.com|rocket-loader/;

export async function smokeTest(target: SmokeTarget): Promise<Check[]> {
  const { ask, deployment, operatorSecret } = target;
  const { PLATFORM: platform = "", PATH_PREFIX: prefix = "" } = deployment.vars;
  const checks: Check[] = [
    await check("it runs", async () => {
      const { status } = await ask("/health");
      return status === 200 ? undefined : `/health answers ${status}.`;
    }),
    ...(await checkCallers(target, prefix)),
    await check("nothing in front refuses programs", async () => {
      for (const agent of PROGRAMS) {
        const { status, headers } = await ask("/health", { headers: { "user-agent": agent } });
        const mitigated = headers["cf-mitigated"];
        if (status === 200 && mitigated === undefined) continue;
        return `"${agent}" is answered ${status}${mitigated === undefined ? "" : `, cf-mitigated: ${String(mitigated)}`}. ${SEE_ZONE}`;
      }
      return undefined;
    }),
    await check("nothing in front rewrites pages", async () => {
      const headers = { "user-agent": BROWSER, accept: "text/html" };
      const { status, body } = await ask(`${prefix}${PAGE}`, { headers });
      if (status !== 200) return `${PAGE} answers ${status}.`;
      const mark = INJECTED.exec(body)?.[0];
      if (mark !== undefined) return `${PAGE} has ${mark}, which is not ours. ${SEE_ZONE}`;
      return /[\w.]+@[\w.]+\.example/.test(body) ? undefined : `The e-mail addresses in ${PAGE} are gone. ${SEE_ZONE}`;
    }),
  ];
  if (operatorSecret === undefined)
    return [
      ...checks,
      ...["its operator gets a token", PARTS].map((name) => ({ name, fault: undefined, unknown: true })),
    ];
  let headers: Readonly<Record<string, string>> | undefined;
  const signedIn = await check("its operator gets a token, which opens the operator service", async () => {
    const basic = Buffer.from(`${platform}.operator:${encodeURIComponent(operatorSecret)}`).toString("base64");
    const { status, body } = await ask(`${prefix}/oauth2/v1/token`, {
      method: "POST",
      headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials",
    });
    if (status !== 200) return `The token endpoint answers ${status}: ${body.slice(0, 200)}`;
    headers = { authorization: `Bearer ${(JSON.parse(body) as { access_token: string }).access_token}` };
    const answer = await ask(`${prefix}/admin/v1/tenants?limit=1`, { headers });
    return answer.status === 200 ? undefined : `/admin/v1/tenants answers ${answer.status}.`;
  });
  if (headers === undefined) return [...checks, signedIn, { name: PARTS, fault: undefined, unknown: true }];
  return [...checks, signedIn, ...(await deepHealth(target, `${prefix}/health/deep`, headers))];
}

/** In maintenance the operator alone is served; the checks of the operator's token show that the database answers. */
async function checkCallers(
  { ask, deployment, hasRested = false, pauseMs }: SmokeTarget,
  prefix: string,
): Promise<Check[]> {
  const attempts = hasRested === isMaintained(deployment) ? 1 : PATIENCE.attempts;
  const checkAgain = (name: string, look: Look) => check(name, look, { attempts, pauseMs });
  const issuer = `${deployment.publicUrl}${prefix}/oauth2/v1`;
  const discovery = `${prefix}/oauth2/v1/.well-known/openid-configuration`;
  if (isMaintained(deployment))
    return [
      await checkAgain("it is in maintenance: callers are asked to wait", async () => {
        const { status } = await ask(discovery);
        return status === 503 ? undefined : `A caller is answered ${status}, and should be 503.`;
      }),
    ];
  return [
    await checkAgain("it issues tokens under its own address", async () => {
      const { status, body } = await ask(discovery);
      const said = status === 200 ? (JSON.parse(body) as { issuer?: string }).issuer : `status ${status}`;
      return said === issuer ? undefined : `The issuer is ${said}, and should be ${issuer}.`;
    }),
    await checkAgain("its database answers", async () => {
      const { status, body } = await ask(`${prefix}/oauth2/v1/jwks`);
      const keys = status === 200 ? ((JSON.parse(body) as { keys?: unknown[] }).keys ?? []) : [];
      return keys.length > 0 ? undefined : `The signing keys cannot be read (status ${status}).`;
    }),
  ];
}

/** `MAINTENANCE` of a deployment's file, or of a version. */
export const isMaintained = ({ vars }: { readonly vars: Readonly<Record<string, string>> }): boolean =>
  vars["MAINTENANCE"] === "true";

const PARTS = "its parts work, by deep health";
/** Checks of deep health about work in the background, which rests in maintenance. */
const BACKGROUND = ["sweeps", "outbox", "queue", "erasures", "tenant objects"];
const RESTED = "its work in the background goes on after maintenance";
const CRON = "its cron has run";

/** The part of an answer of deep health that is read here. */
interface DeepHealth {
  readonly checks: readonly {
    readonly name: string;
    readonly status: "ok" | "warn" | "fail";
    readonly facts: { readonly sweeps?: readonly { readonly triedAt: number | null }[] };
    readonly next: string;
  }[];
}

/**
 * Asks deep health. Checks that fail are faults. Warnings are not: most are about load and waiting work, which say
 * nothing about a deployment.
 *
 * The cron first runs up to five minutes after a deployment, and a release may add a sweep. So a sweep that was never
 * tried is not known to be wrong, and the check of the sweeps is not judged. Another one is: the version before ran it,
 * unless it was in maintenance.
 */
async function deepHealth(
  { ask, hasRested = false, pauseMs }: SmokeTarget,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Check[]> {
  let isCronNew = false;
  let isBehind = false;
  const look = async (): Promise<string | undefined> => {
    const { status, body } = await ask(path, { headers });
    if (status !== 200 && status !== 503) return `/health/deep answers ${status}.`;
    const { checks } = JSON.parse(body) as DeepHealth;
    isCronNew = checks.some(({ facts }) => facts.sweeps?.some(({ triedAt }) => triedAt === null));
    const failing = checks.filter((one) => one.status === "fail");
    isBehind = hasRested && failing.some(({ name }) => BACKGROUND.includes(name));
    const unjudged = hasRested ? BACKGROUND : isCronNew ? ["sweeps"] : [];
    const failed = failing.filter(({ name }) => !unjudged.includes(name));
    return failed.length === 0 ? undefined : failed.map(({ name, next }) => `${name}: ${next}`).join(" ");
  };
  const parts = await check(PARTS, look, { attempts: PATIENCE.attempts, pauseMs });
  const unknown = [...(isCronNew ? [CRON] : []), ...(isBehind ? [RESTED] : [])];
  return [parts, ...unknown.map((name) => ({ name, fault: undefined, unknown: true }))];
}

type Look = () => Promise<string | undefined>;

async function check(
  name: string,
  look: Look,
  { attempts = 1, pauseMs = PATIENCE.pauseMs }: { attempts?: number; pauseMs?: number | undefined } = {},
): Promise<Check> {
  for (let attempt = 1; ; attempt++) {
    const fault = await look().catch((error: Error) => error.message);
    if (fault === undefined || attempt === attempts) return { name, fault };
    await sleep(pauseMs);
  }
}

/**
 * Settings of a zone that break clients other than browsers, or change bodies. Each is on by default in some plan. They
 * belong to the whole zone, so they are reported and not changed.
 */
interface ZoneSetting {
  readonly path: string;
  readonly name: string;
  readonly harm: string;
  isOff(found: any): boolean;
}

const isOff = ({ value }: any): boolean => value === "off";
const ZONE_SETTINGS: readonly ZoneSetting[] = [
  {
    path: "settings/browser_check",
    isOff,
    name: "Browser Integrity Check",
    harm: "refuses programs by their user agent",
  },
  { path: "settings/email_obfuscation", isOff, name: "Email Obfuscation", harm: "rewrites addresses in HTML" },
  { path: "settings/rocket_loader", isOff, name: "Rocket Loader", harm: "rewrites scripts in HTML" },
  { path: "settings/hotlink_protection", isOff, name: "Hotlink Protection", harm: "refuses images in pages of others" },
  {
    path: "settings/security_level",
    isOff: ({ value }) => value !== "under_attack",
    name: "Under Attack mode",
    harm: "challenges everybody",
  },
  {
    path: "bot_management",
    isOff: ({ fight_mode: fights, sbfm_definitely_automated: programs = "allow" }) =>
      fights !== true && programs === "allow",
    name: "Bot Fight Mode",
    harm: "challenges programs",
  },
  {
    path: "bot_management",
    isOff: ({ enable_js: detects }) => detects !== true,
    name: "JavaScript Detections",
    harm: "puts a script into pages, which they refuse to run",
  },
];

export async function checkZones({ root }: Cloudflare, hosts: readonly FoundHost[]): Promise<Check[]> {
  const zones = new Map(hosts.flatMap(({ zoneId, host }) => (zoneId === undefined ? [] : [[zoneId, host] as const])));
  return Promise.all(
    [...zones].flatMap(([zone, host]) =>
      ZONE_SETTINGS.map(async ({ path, name, harm, ...setting }): Promise<Check> => {
        const title = `${name} is off for ${host}`;
        const found = await root.find(`/zones/${zone}/${path}`).catch(() => undefined);
        if (found === undefined) return { name: title, fault: undefined, unknown: true };
        return {
          name: title,
          fault: setting.isOff(found) ? undefined : `${name} ${harm}. Turn it off ${remedy(path, host)}.`,
        };
      }),
    ),
  );
}

/** How to turn a setting off. Bot detection runs before rules, so its settings exist only for the whole zone. */
const remedy = (path: string, host: string): string =>
  path === "bot_management" ? `for the zone of ${host}` : `for ${host} by a configuration rule`;
