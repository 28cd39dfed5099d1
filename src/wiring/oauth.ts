import type { Config } from "../config.ts";
import type { Env } from "../env.ts";
import type { Gateway } from "../gateway/service.ts";
import type { Events } from "../events/service.ts";
import { createOAuth, type OAuth } from "../oauth/service.ts";
import type { Log } from "../platform/runtime/log.ts";
import type { ShardRoom } from "../shards/service.ts";
import { mailBy, type SendMail } from "../platform/ports/mail.ts";
import { createMails } from "../ui/mails.ts";
import { createPages } from "../ui/pages.ts";
import { LANGUAGES } from "../ui/texts/languages.ts";
import type { Base } from "./base.ts";

/** Links in mails need the public address, because anybody can choose the address of a request. */
function senderOf({ MAIL }: Env, { mailFrom, publicUrl, allowLoopback }: Config, log: Log): SendMail | undefined {
  if (MAIL === undefined || mailFrom === undefined) return undefined;
  if (publicUrl !== "" || allowLoopback) return mailBy(MAIL, mailFrom);
  log.warn("no mail is sent: MAIL_FROM needs PUBLIC_URL", {});
  return undefined;
}

/** The services that this one calls. They are created after it. */
interface Others {
  readonly gateway: Pick<Gateway, "find" | "recordsChanged">;
  readonly events: Pick<Events, "recordsChanged">;
  readonly shards: Pick<ShardRoom, "forgetPlaces">;
}

export function wireOAuth(env: Env, base: Base, others: () => Others): OAuth {
  const { config, builtIn, log, objects, limited, shardsFor } = base;
  const { pathPrefix, operatorSecret, previousOperatorSecret } = config;
  return createOAuth({
    ...base,
    shards: shardsFor("oauth"),
    loginAttempts: objects.LOGIN_ATTEMPTS,
    guessCounters: config.allowLoopback ? undefined : objects.GUESS_COUNTER,
    clientLimit: limited(env.CLIENT_LIMIT),
    keptLimit: limited(env.KEPT_LIMIT),
    pages: createPages(pathPrefix, config.passkeys),
    mails: createMails(),
    sendMail: senderOf(env, config, log),
    mailNotices: config.mailNotices,
    sessionIdleMs: config.sessionIdleMs,
    usesPasskeys: config.passkeys,
    uiLocales: Object.keys(LANGUAGES),
    pathPrefix,
    publicUrl: config.publicUrl,
    authUrl: config.authUrl,
    ownOrigins: [config.publicUrl, config.authUrl, config.contentUrl],
    operatorSecrets: [operatorSecret, ...(previousOperatorSecret === "" ? [] : [previousOperatorSecret])],
    allowLoopback: config.allowLoopback,
    subject: config.subject,
    passwordGrant: config.passwordGrant,
    unregisteredClients: config.unregisteredClients,
    async findResource(path, nowMs) {
      const below = path.slice(pathPrefix.length);
      if (!path.startsWith(`${pathPrefix}/`)) return undefined;
      const own = builtIn.services.find(({ proxyPath }) => below === proxyPath || below.startsWith(`${proxyPath}/`));
      if (own !== undefined) return { ...own, path: pathPrefix + own.proxyPath, isBuiltIn: true };
      const found = await others().gateway.find(below, nowMs);
      if (found?.access !== "token") return undefined;
      const { name, scopes, tenant, essential, proxyPath } = found;
      return { path: pathPrefix + proxyPath, name, scopes, tenant, essential, isBuiltIn: false };
    },
    onRestored() {
      log.warn("the database was restored: cached copies are dropped", {});
      others().gateway.recordsChanged();
      others().events.recordsChanged();
      others().shards.forgetPlaces();
    },
  });
}
