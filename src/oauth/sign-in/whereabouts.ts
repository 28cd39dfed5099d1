import type { AnyCall } from "../model/call.ts";

/** The browser and place of a sign-in, as a person recognizes them. Each may be empty: unknown. */
export interface Whereabouts {
  /** `Firefox` */
  readonly browser: string;
  /** `Windows` */
  readonly system: string;
  /** ISO 3166-1: `DE` */
  readonly country: string;
  readonly city: string;
}

/**
 * A coarse table. Versions are left out: they change, and a person does not know theirs. Browsers name others too, so
 * the first match counts.
 */
const BROWSERS: readonly (readonly [string, RegExp])[] = [
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["Opera", /\b(?:OPR|Opera|OPiOS)\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /\b(?:Chrome|HeadlessChrome|CriOS|Chromium)\//],
  ["Safari", /\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//],
];
const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ["iPadOS", /\biPad\b/],
  ["iOS", /\b(?:iPhone|iPod)\b/],
  ["Android", /\bAndroid\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Windows", /\bWindows NT\b/],
  ["macOS", /\bMacintosh\b/],
  ["Linux", /\bLinux\b/],
];
const MAX_AGENT_CHARS = 512;
const MAX_CITY_CHARS = 60;
const COUNTRY = /^[A-Z]{2}$/;
/** Cloudflare's words for an unknown country and for Tor. */
const NO_COUNTRY: readonly string[] = ["XX", "T1"];

export function whereaboutsOf({ request }: Pick<AnyCall, "request">): Whereabouts {
  const agent = (request.headers.get("user-agent") ?? "").slice(0, MAX_AGENT_CHARS);
  const first = (table: typeof BROWSERS): string => table.find(([, pattern]) => pattern.test(agent))?.[0] ?? "";
  const { country, city } = (request.cf ?? {}) as { readonly country?: unknown; readonly city?: unknown };
  const known = typeof country === "string" && COUNTRY.test(country) && !NO_COUNTRY.includes(country);
  return {
    browser: first(BROWSERS),
    system: first(SYSTEMS),
    country: known ? country : "",
    city: known && typeof city === "string" ? city.slice(0, MAX_CITY_CHARS) : "",
  };
}
