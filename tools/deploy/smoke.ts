import type { Cloudflare } from "./cloudflare.ts";
import type { Deployment } from "./deployment.ts";
import type { FoundHost } from "./found.ts";
import type { Ask } from "./reach.ts";

/**
 * Checks a deployed platform in seconds and leaves nothing behind: it runs, it names itself as the file says, its
 * database answers, its operator gets a token, and nothing in the zone refuses programs.
 */
export interface Check {
  readonly name: string;
  /** The fault and its remedy; undefined: the check passed. */
  readonly fault: string | undefined;
  /** Nobody could look: a token without the right. */
  readonly unknown?: boolean;
}

interface SmokeTarget {
  readonly ask: Ask;
  readonly deployment: Deployment;
  /** Undefined: nobody here knows it, and the checks that need it are left out. */
  readonly operatorSecret: string | undefined;
}

/** Headers of a program that is no browser. */
const PROGRAM = { "user-agent": "Python-urllib/3.13" };

export async function smokeTest({ ask, deployment, operatorSecret }: SmokeTarget): Promise<Check[]> {
  const { PLATFORM: platform = "", PATH_PREFIX: prefix = "" } = deployment.vars;
  const issuer = `${deployment.publicUrl}${prefix}/oauth2/v1`;
  const checks: Check[] = [
    await check("it runs", async () => {
      const { status } = await ask("/health");
      return status === 200 ? undefined : `/health answers ${status}.`;
    }),
    await check("it issues tokens under its own address", async () => {
      const { status, body } = await ask(`${prefix}/oauth2/v1/.well-known/openid-configuration`);
      const said = status === 200 ? (JSON.parse(body) as { issuer?: string }).issuer : `status ${status}`;
      return said === issuer ? undefined : `The issuer is ${said}, and should be ${issuer}.`;
    }),
    await check("its database answers", async () => {
      const { status, body } = await ask(`${prefix}/oauth2/v1/jwks`);
      const keys = status === 200 ? ((JSON.parse(body) as { keys?: unknown[] }).keys ?? []) : [];
      return keys.length > 0 ? undefined : `The signing keys cannot be read (status ${status}).`;
    }),
    await check("nothing in front refuses programs", async () => {
      const { status, headers } = await ask("/health", { headers: PROGRAM });
      if (status === 200 && headers["cf-mitigated"] === undefined) return undefined;
      return `A program is answered ${status}${headers["cf-mitigated"] === undefined ? "" : " with a challenge"}. See "Zone features" in docs/operate/deploy.md.`;
    }),
  ];
  if (operatorSecret === undefined)
    return [...checks, { name: "its operator gets a token", fault: undefined, unknown: true }];
  return [
    ...checks,
    await check("its operator gets a token, which opens the operator service", async () => {
      const basic = Buffer.from(`${platform}.operator:${encodeURIComponent(operatorSecret)}`).toString("base64");
      const { status, body } = await ask(`${prefix}/oauth2/v1/token`, {
        method: "POST",
        headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
        body: "grant_type=client_credentials",
      });
      if (status !== 200) return `The token endpoint answers ${status}: ${body.slice(0, 200)}`;
      const { access_token: token } = JSON.parse(body) as { access_token: string };
      const answer = await ask(`${prefix}/admin/v1/tenants?limit=1`, { headers: { authorization: `Bearer ${token}` } });
      return answer.status === 200 ? undefined : `/admin/v1/tenants answers ${answer.status}.`;
    }),
  ];
}

async function check(name: string, look: () => Promise<string | undefined>): Promise<Check> {
  try {
    return { name, fault: await look() };
  } catch (error) {
    return { name, fault: (error as Error).message };
  }
}

/**
 * Settings of a zone that break clients that are no browsers, or change bodies: each is on by default in some plan.
 * They belong to the whole zone, so they are told and not changed.
 */
const ZONE_SETTINGS = [
  {
    path: "settings/browser_check",
    isOff: ({ value }: any) => value === "off",
    name: "Browser Integrity Check",
    harm: "refuses programs by their user agent",
  },
  {
    path: "settings/email_obfuscation",
    isOff: ({ value }: any) => value === "off",
    name: "Email Obfuscation",
    harm: "rewrites addresses in HTML",
  },
  {
    path: "bot_management",
    isOff: ({ fight_mode: on }: any) => on !== true,
    name: "Bot Fight Mode",
    harm: "challenges programs",
  },
] as const;

export async function checkZones({ root }: Cloudflare, hosts: readonly FoundHost[]): Promise<Check[]> {
  const zones = new Map(hosts.flatMap(({ zoneId, host }) => (zoneId === undefined ? [] : [[zoneId, host] as const])));
  return Promise.all(
    [...zones].flatMap(([zone, host]) =>
      ZONE_SETTINGS.map(async ({ path, isOff, name, harm }): Promise<Check> => {
        const title = `${name} is off for ${host}`;
        const found = await root.find(`/zones/${zone}/${path}`).catch(() => undefined);
        if (found === undefined) return { name: title, fault: undefined, unknown: true };
        return {
          name: title,
          fault: isOff(found) ? undefined : `${name} ${harm}. Turn it off for ${host} by a configuration rule.`,
        };
      }),
    ),
  );
}
