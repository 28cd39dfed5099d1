import { createGateway, type Gateway } from "../gateway/service.ts";
import type { OAuth } from "../oauth/service.ts";
import type { Base } from "./base.ts";

export const wireGateway = (base: Base, oauth: OAuth): Gateway =>
  createGateway({
    ...base,
    db: base.dbFor("gateway"),
    verifier: oauth.verifier,
    access: oauth.access,
    serviceToken: oauth.serviceToken,
    issuer: oauth.issuer,
    pathPrefix: base.config.pathPrefix,
    allowLoopback: base.config.allowLoopback,
    timeoutMs: base.config.gatewayTimeoutMs,
  });
