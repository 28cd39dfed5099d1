import type { ClientAccess, TokenVerifier } from "../http/auth.ts";
import type { Service } from "../http/mount.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Sealer } from "../platform/seal.ts";

export interface OAuthDeps {
  readonly names: Names;
  readonly db: D1Database;
  readonly sealer: Sealer;
  readonly random: Random;
  readonly log: Log;
  readonly pathPrefix: string;
  readonly publicUrl: string;
  readonly operatorSecret: string;
}

export interface OAuth {
  readonly services: readonly Service[];
  readonly verifier: TokenVerifier;
  readonly access: ClientAccess;
  /** To be called after a change of clients, tenants, services, packages or subscriptions in this isolate. */
  recordsChanged(): void;
  sweep(nowMs: number): Promise<void>;
}

export function createOAuth(_deps: OAuthDeps): OAuth {
  return {
    services: [],
    verifier: { verify: async () => ({ ok: false, error: "malformed" }) },
    access: { mayActFor: async () => false, listsScope: async () => false },
    recordsChanged: () => {},
    sweep: async () => {},
  };
}
