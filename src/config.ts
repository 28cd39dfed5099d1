import { LOG_LEVELS, type LogLevel } from "./platform/runtime/log.ts";
import { normalizeEmail } from "./platform/text/email.ts";
import {
  ANY_PLACE,
  LOCATION_HINTS,
  parseObjectShards,
  type LocationHint,
  type ObjectShards,
} from "./platform/storage/object-shards.ts";
import { parseTenantObjects, type TenantObjectsSetting } from "./platform/storage/tenant-objects.ts";
import { MAIL_NOTICES, type MailNotice, type MailSender } from "./platform/ports/mail.ts";
import { PATTERNS } from "./platform/model/names.ts";
import { isLoopbackHost } from "./platform/outside/ip-range.ts";
import { parseSealKeys, type SealKey } from "./platform/secrets/seal.ts";
import { DAY_MS, MINUTE_MS } from "./platform/runtime/clock.ts";

/** Every deployment variable, parsed once. An invalid value stops the Worker with its name and the reason. */
export interface Config {
  readonly platform: string;
  /** Empty, or starts with a slash and ends without one. */
  readonly pathPrefix: string;
  /** An origin; empty: the origin of each request. */
  readonly publicUrl: string;
  /** An origin; empty: the service's own. */
  readonly contentUrl: string;
  /** Origin of the pages that people see and of their cookies; empty: the service's own. */
  readonly authUrl: string;
  readonly allowLoopback: boolean;
  /** The sender of mails; undefined: the platform sends none. Without `publicUrl` it sends none either. */
  readonly mailFrom: MailSender | undefined;
  /** Time after which an unused browser session ends; undefined: only its age counts. */
  readonly sessionIdleMs: number | undefined;
  /** True if people may sign in by passkeys. */
  readonly passkeys: boolean;
  /** The notices that people get. */
  readonly mailNotices: readonly MailNotice[];
  readonly logLevel: LogLevel;
  /** True: only the operator is served, and cron, queue and pushes rest. */
  readonly maintenance: boolean;
  readonly eventRetentionMs: number;
  /** Maximum bytes that one log of a topic stores. */
  readonly eventLogMaxBytes: number;
  readonly maxUploadBytes: number;
  /** Maximum rows of the database that one query over metadata may read. */
  readonly queryRowBudget: number;
  /** Maximum wait for the headers of a service behind the gateway, and between two pieces of its body. */
  readonly gatewayTimeoutMs: number;
  /** The S3 API of the media bucket, for uploads by presigned links; undefined: uploads go through the Worker. */
  readonly s3: S3Access | undefined;
  /** True if `subscriptionCreated` is published in its deprecated schemas too. */
  readonly deprecatedSubscriptionEvents: boolean;
  /** The OpenTelemetry endpoint that takes spans; undefined: none. */
  readonly otlp: OtlpEndpoint | undefined;
  /** The share of requests with spans, 0 to 1. */
  readonly traceSample: number;
  /** Content of `sub`: the user's address, or an opaque text that is never given to another user. */
  readonly subject: Subject;
  /** The callers of `/token` that may get tokens for a user's address and password. */
  readonly passwordGrant: PasswordGrant;
  /** The clients that may come without a registration by an operator. */
  readonly unregisteredClients: UnregisteredClients;
  readonly place: Place;
  readonly objectShards: ObjectShards;
  /** Which tenants have an object of their own; undefined: none. */
  readonly tenantObjects: TenantObjectsSetting | undefined;
  readonly operatorSecret: string;
  /** The previous secret, which is accepted too; empty: none. */
  readonly previousOperatorSecret: string;
  readonly sealKeys: readonly SealKey[];
}

interface OtlpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const SUBJECTS = ["email", "opaque"] as const;
type Subject = (typeof SUBJECTS)[number];

const UNREGISTERED_CLIENTS = ["none", "documents", "registration"] as const;
type UnregisteredClients = (typeof UNREGISTERED_CLIENTS)[number];

type PasswordGrant = "nobody" | "clients" | "everybody";

/** The places where objects are created and kept. */
export interface Place {
  /** Undefined: anywhere. An object's id depends on it, so a change leaves all objects behind. */
  readonly jurisdiction: (typeof JURISDICTIONS)[number] | undefined;
  /** Undefined: near the caller that creates the object. */
  readonly locationHint: LocationHint | undefined;
}

const JURISDICTIONS = ["eu", "us", "fedramp"] as const;

export interface S3Access {
  /** Without a slash at the end; the bucket is the first segment after it. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export type RawConfig = Readonly<Record<string, unknown>>;

export class ConfigError extends Error {
  override name = "ConfigError";
}

/** The maximum is the lifetime of a session, 12 hours. */
const IDLE: Range = { min: 5, max: 720, unit: "minutes" };
/** The maximum is ten years. */
const RETENTION: Range = { max: 3650, unit: "days" };
/** A log below the minimum would trim all the time. An eighth more than the maximum still fits an object's 10 GB. */
const LOG_BYTES: Range = { min: 1_000_000, max: 8_800_000_000, unit: "bytes" };
/** R2 accepts a PUT of at most 5 GiB less 5 MiB. The limit of a Worker depends on the account. */
const UPLOAD_BYTES = {
  worker: { default: 104_857_600, range: { unit: "bytes" } },
  r2: { default: 4_294_967_296, range: { max: 5_363_466_240, unit: "bytes" } },
} as const;
/** The minimum suits tests; Cloudflare closes a connection without a byte after the maximum. */
const GATEWAY_TIMEOUT: Range = { min: 100, max: 100_000, unit: "ms" };
/** The minimum suffices for the largest page with the most terms. */
const ROW_BUDGET: Range = { min: 10_000, unit: "rows" };
const S3_VARIABLES = ["R2_S3_ENDPOINT", "R2_BUCKET", "R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY"] as const;
const PLATFORM: Form = { pattern: PATTERNS.platform, rule: "must be 3 to 15 small letters and digits, a letter first" };
const PATH_PREFIX: Form = {
  pattern: /^(\/[A-Za-z0-9._~-]+)*$/,
  rule: "must be empty or a path such as /base",
};
const FLAG: Form = { pattern: /^(true|false)$/, rule: "must be true or false" };
const SHARE: Form = {
  pattern: /^(0(\.\d{1,6})?|1(\.0+)?)$/,
  rule: "must be a number from 0 to 1",
};
const OPERATOR_SECRET: Form = {
  pattern: /^[\x21-\x7e]{32,512}$/,
  rule: "must be 32 to 512 visible ASCII characters",
};
const BUCKET: Form = {
  pattern: /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
  rule: "must be the name of a bucket",
};
const S3_KEY: Form = { pattern: /^[\x21-\x7e]+$/, rule: "must be visible ASCII characters" };
const PREVIOUS = "OPERATOR_CLIENT_SECRET_PREVIOUS";

export function readConfig(raw: RawConfig): Config {
  const sealKeys = parseSealKeys(text(raw, "SEAL_KEYS"));
  if (!sealKeys.ok) throw new ConfigError(`SEAL_KEYS: ${sealKeys.error}`);
  const s3 = s3Access(raw);
  const upload = UPLOAD_BYTES[s3 === undefined ? "worker" : "r2"];
  return {
    platform: matching(raw, "PLATFORM", PLATFORM),
    pathPrefix: matching(raw, "PATH_PREFIX", PATH_PREFIX),
    publicUrl: origin(raw, "PUBLIC_URL"),
    contentUrl: origin(raw, "CONTENT_URL"),
    authUrl: authUrl(raw),
    allowLoopback: flag(raw, "ALLOW_LOOPBACK"),
    mailFrom: mailFrom(raw),
    sessionIdleMs:
      text(raw, "SESSION_IDLE_MINUTES") === "" ? undefined : amount(raw, "SESSION_IDLE_MINUTES", IDLE, MINUTE_MS),
    passkeys: flag(raw, "PASSKEYS"),
    mailNotices: mailNotices(raw),
    logLevel: oneOf(raw, "LOG_LEVEL", LOG_LEVELS),
    maintenance: flag(raw, "MAINTENANCE"),
    eventRetentionMs: amount(raw, "EVENT_RETENTION_DAYS", RETENTION, DAY_MS),
    eventLogMaxBytes: amount(raw, "EVENT_LOG_MAX_BYTES", LOG_BYTES),
    maxUploadBytes:
      text(raw, "MAX_UPLOAD_BYTES") === "" ? upload.default : amount(raw, "MAX_UPLOAD_BYTES", upload.range),
    queryRowBudget: amount(raw, "MEDIA_QUERY_ROW_BUDGET", ROW_BUDGET),
    gatewayTimeoutMs: amount(raw, "GATEWAY_TIMEOUT_MS", GATEWAY_TIMEOUT),
    s3,
    deprecatedSubscriptionEvents: flag(raw, "DEPRECATED_SUBSCRIPTION_EVENTS"),
    otlp: otlpEndpoint(raw),
    traceSample: Number(matching(raw, "TRACE_SAMPLE", SHARE)),
    subject: oneOf(raw, "SUBJECT", SUBJECTS),
    passwordGrant: passwordGrant(raw),
    unregisteredClients: oneOf(raw, "UNREGISTERED_CLIENTS", UNREGISTERED_CLIENTS),
    place: readPlace(raw),
    objectShards: objectShards(raw),
    tenantObjects: tenantObjects(raw),
    operatorSecret: matching(raw, "OPERATOR_CLIENT_SECRET", OPERATOR_SECRET),
    previousOperatorSecret: text(raw, PREVIOUS) === "" ? "" : matching(raw, PREVIOUS, OPERATOR_SECRET),
    sealKeys: sealKeys.value,
  };
}

function text(raw: RawConfig, name: string): string {
  const value = raw[name] ?? "";
  if (typeof value !== "string") throw new ConfigError(`${name} must be a text`);
  return value.trim();
}

interface Form {
  readonly pattern: RegExp;
  /** The pattern in words, to follow the name of the variable. */
  readonly rule: string;
}

function matching(raw: RawConfig, name: string, { pattern, rule }: Form): string {
  const value = text(raw, name);
  if (!pattern.test(value)) throw new ConfigError(`${name} ${rule}`);
  return value;
}

const flag = (raw: RawConfig, name: string): boolean => matching(raw, name, FLAG) === "true";

function origin(raw: RawConfig, name: string): string {
  const value = text(raw, name);
  if (value === "") return "";
  const url = URL.parse(value);
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === null || !isHttp || (value !== url.origin && value !== `${url.origin}/`))
    throw new ConfigError(`${name} must be an origin such as https://platform.example`);
  return url.origin;
}

/** `no-reply@acme.example` or `Acme <no-reply@acme.example>`. */
function mailFrom(raw: RawConfig): MailSender | undefined {
  const given = text(raw, "MAIL_FROM");
  if (given === "") return undefined;
  const [, name = "", inBrackets, bare] = /^(?:([^<>@"]{1,100}?)\s*<([^<>\s]+)>|([^<>\s]+))$/.exec(given) ?? [];
  const email = normalizeEmail(inBrackets ?? bare ?? "");
  if (email === undefined) throw new ConfigError("MAIL_FROM must be an address such as Acme <no-reply@acme.example>");
  return name === "" ? { email } : { email, name };
}

/** Parses words with spaces between them. */
function mailNotices(raw: RawConfig): readonly MailNotice[] {
  return text(raw, "MAIL_NOTICES")
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => {
      const notice = MAIL_NOTICES.find((known) => known === word);
      if (notice === undefined) throw new ConfigError(`MAIL_NOTICES must hold words of: ${MAIL_NOTICES.join(" ")}`);
      return notice;
    });
}

interface Range {
  readonly min?: number;
  readonly max?: number;
  readonly unit: string;
}

/** A number within the range, times `factor`, rounded down. */
function amount(raw: RawConfig, name: string, { min = 0, max = Infinity, unit }: Range, factor = 1): number {
  const value = Math.floor(Number(text(raw, name)) * factor);
  if (Number.isFinite(value) && value >= 1 && value >= min * factor && value <= max * factor) return value;
  const lower = min === 0 ? "above 0" : `at least ${min}`;
  throw new ConfigError(`${name} must be a number of ${unit}, ${lower}${max === Infinity ? "" : `, at most ${max}`}`);
}

/** The host of the pages needs PUBLIC_URL, which tokens name as issuer, and must not be the host of the content. */
function authUrl(raw: RawConfig): string {
  const own = origin(raw, "AUTH_URL");
  if (own === "") return "";
  if (origin(raw, "PUBLIC_URL") === "")
    throw new ConfigError(
      "AUTH_URL needs PUBLIC_URL too: it is the issuer of the tokens that the pages sign people in for",
    );
  const { hostname, host } = new URL(own);
  if (URL.parse(origin(raw, "CONTENT_URL"))?.hostname === hostname)
    throw new ConfigError("AUTH_URL and CONTENT_URL must be different hosts");
  const service = new URL(origin(raw, "PUBLIC_URL"));
  // A cookie of one port is sent to all ports of the host.
  if (service.hostname === hostname && service.host !== host)
    throw new ConfigError("AUTH_URL and PUBLIC_URL must be different hosts, or the same origin");
  return own;
}

/** Requires TLS except on this machine, since the headers may have a secret. Form of the headers: `name=value,…`. */
function otlpEndpoint(raw: RawConfig): OtlpEndpoint | undefined {
  const given = text(raw, "OTLP_ENDPOINT");
  if (given === "") return undefined;
  const url = URL.parse(given);
  if (url === null || !isSafe(url) || url.search !== "" || url.hash !== "" || url.username !== "")
    throw new ConfigError("OTLP_ENDPOINT must be an address such as https://otlp.example.com");
  const pairs = text(raw, "OTLP_HEADERS").split(",").filter(Boolean);
  const headers = pairs.map((pair) => /^\s*([A-Za-z0-9_-]+)=([\x21-\x7e][\x20-\x7e]*)$/.exec(pair));
  if (headers.includes(null)) throw new ConfigError("OTLP_HEADERS must be of the form name=value,name=value");
  return {
    // Other programs want the path in it.
    url: `${url.href.replace(/\/$/, "").replace(/\/v1\/traces$/, "")}/v1/traces`,
    headers: Object.fromEntries(headers.map((header) => [header![1]!, header![2]!])),
  };
}

/** Reads the access to the S3 API; undefined without it. Either all four variables are set, or none of them. */
function s3Access(raw: RawConfig): S3Access | undefined {
  const missing = S3_VARIABLES.filter((name) => text(raw, name) === "");
  if (missing.length === S3_VARIABLES.length) return undefined;
  if (missing.length > 0)
    throw new ConfigError(`Uploads by presigned links need ${missing.join(" and ")} too: set all four or none`);
  return {
    endpoint: s3Endpoint(raw),
    bucket: matching(raw, "R2_BUCKET", BUCKET),
    accessKeyId: matching(raw, "R2_ACCESS_KEY_ID", S3_KEY),
    secretAccessKey: matching(raw, "R2_SECRET_ACCESS_KEY", S3_KEY),
  };
}

/** The address that callers send their files to. */
function s3Endpoint(raw: RawConfig): string {
  const url = URL.parse(text(raw, "R2_S3_ENDPOINT"));
  if (url === null || !isSafe(url) || url.search !== "" || url.hash !== "" || url.username !== "")
    throw new ConfigError("R2_S3_ENDPOINT must be an address such as https://<account>.r2.cloudflarestorage.com");
  return url.href.replace(/\/$/, "");
}

/** Requires TLS, except to this machine. */
const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));

function passwordGrant(raw: RawConfig): PasswordGrant {
  const withoutClient = flag(raw, "PASSWORD_GRANT_WITHOUT_CLIENT");
  if (!flag(raw, "PASSWORD_GRANT")) return "nobody";
  return withoutClient ? "everybody" : "clients";
}

export const readPlace = (raw: RawConfig): Place => ({
  jurisdiction: oneOf(raw, "JURISDICTION", ["" as const, ...JURISDICTIONS]) || undefined,
  locationHint: oneOf(raw, "LOCATION_HINT", ["" as const, ...LOCATION_HINTS]) || undefined,
});

function objectShards(raw: RawConfig): ObjectShards {
  const shards = parseObjectShards(text(raw, "OBJECT_SHARDS"));
  if (shards !== undefined) return shards;
  throw new ConfigError(`OBJECT_SHARDS must hold words such as 2:${ANY_PLACE} or 3:${LOCATION_HINTS[0]}`);
}

function oneOf<Value extends string>(raw: RawConfig, name: string, values: readonly Value[]): Value {
  const given = text(raw, name);
  const value = values.find((candidate) => candidate === given);
  if (value !== undefined) return value;
  const words = values.filter((candidate) => candidate !== "");
  throw new ConfigError(`${name} must be ${words.length < values.length ? "empty or " : ""}one of ${words.join(", ")}`);
}

function tenantObjects(raw: RawConfig): TenantObjectsSetting | undefined {
  const given = text(raw, "TENANT_OBJECTS");
  const setting = parseTenantObjects(given);
  if (setting !== undefined || given === "") return setting;
  throw new ConfigError(`TENANT_OBJECTS must be empty, or such as asked:${ANY_PLACE} or new:${LOCATION_HINTS[0]}`);
}
