/** Makes every name that starts with the platform's prefix (`PLATFORM`). No other file spells it. */
export interface Names {
  readonly platform: string;
  /** `media_view` → `plat.media_view` */
  scope(suffix: string): string;
  /** `request-id` → `plat-request-id`, for headers and for parameters such as the session id */
  header<Suffix extends string>(suffix: Suffix): `${string}-${Suffix}`;
  /** `id_provider` → `plat_id_provider`, for parameters */
  parameter<Suffix extends string>(suffix: Suffix): `${string}_${Suffix}`;
  /** `authorization` → `plat.authorization`, a client of the platform itself */
  client(app: string): string;
}

export function createNames(platform: string): Names {
  return {
    platform,
    scope: (suffix) => `${platform}.${suffix}`,
    header: (suffix) => `${platform}-${suffix}`,
    parameter: (suffix) => `${platform}_${suffix}`,
    client: (app) => `${platform}.${app}`,
  };
}

/** Values of `<platform>_id_provider` besides the id of a provider: both are the platform's own directory of users. */
export const DEFAULT_PROVIDER = "default_idp";
export const LEGACY_PROVIDER = "legacy_idp";

export const PATTERNS = {
  platform: /^[a-z][a-z0-9]{2,14}$/,
  tenant: /^[a-z][a-z0-9]{2,15}$/,
  clientName: /^[a-z][a-z0-9-]{1,14}[a-z0-9]\.[a-z][a-z0-9-]{0,22}[a-z0-9]$/,
  eventType: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
  scope: /^[A-Za-z0-9._=*-]{1,256}$/,
  pushSubscription: /^[A-Za-z0-9_-]{1,64}$/,
} as const;

/** The patterns in words, to follow the name of a field. */
export const PATTERN_WORDS: ReadonlyMap<RegExp, string> = new Map([
  [PATTERNS.tenant, "must be 3 to 16 small letters and digits, a letter first"],
  [
    PATTERNS.clientName,
    "must be <project>.<app>: 3 to 16 and 2 to 24 small letters, digits and dashes, a letter first and no dash last",
  ],
  [PATTERNS.eventType, "must be 1 to 128 letters, digits, dots, dashes and underscores, a letter or digit first"],
  [PATTERNS.scope, "must be 1 to 256 letters, digits and . _ = * -"],
  [PATTERNS.pushSubscription, "must be the id of a push subscription, as the list shows it"],
]);
