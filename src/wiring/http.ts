import type { Env } from "../env.ts";
import type { HttpDeps } from "../http/service.ts";
import { createRequestMeter } from "../metrics/requests.ts";
import type { OAuth } from "../oauth/service.ts";
import { nothingHere } from "../ui/pages/landing-page.ts";
import type { ConsoleDeps } from "../ui/console.ts";
import type { SiteDeps } from "../ui/site.ts";
import type { Base } from "./base.ts";

/** The pipeline that requests pass before they reach a service. */
export function wireHttp(env: Env, base: Base, verifier: OAuth["verifier"]): HttpDeps {
  const { config, names, builtIn, clock, random, log, limits, meter, tracing } = base;
  const { pathPrefix, publicUrl, contentUrl, authUrl } = config;
  return {
    names,
    pathPrefix,
    publicUrl,
    contentUrl,
    authUrl,
    clock,
    random,
    log,
    verifier,
    limits,
    maintenance: config.maintenance ? { operatorClientId: builtIn.operatorClientId } : undefined,
    nothingHere: (request: Request, publicBase: string) => nothingHere(request, publicBase, pathPrefix),
    meter: createRequestMeter(meter, env.ANALYTICS),
    tracing,
  };
}

/** The dependencies of the site: documents, the landing page, the demo of a local platform. */
export const wireSite = ({ ASSETS, LOCAL_DEMO }: Env, { config }: Base): SiteDeps => ({
  assets: ASSETS,
  pathPrefix: config.pathPrefix,
  hosts: [config.contentUrl, config.authUrl].filter((url) => url !== ""),
  demo: config.allowLoopback ? LOCAL_DEMO : undefined,
});

/** The dependencies of the operators' console. Its scripts may call the platform's other origins. */
export const wireConsole = ({ ASSETS }: Env, { config, names }: Base): ConsoleDeps => {
  const { contentUrl, authUrl, s3, pathPrefix } = config;
  const origins = [contentUrl, authUrl, s3?.endpoint ?? ""].filter((url) => url !== "");
  return { assets: ASSETS, pathPrefix, platform: names.platform, origins: [...new Set(origins)] };
};
