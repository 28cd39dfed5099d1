import type { RateLimit } from "../http/callers/rate-limit.ts";
import type { AuditTrail } from "../platform/ports/audit.ts";
import type { BuiltIn } from "../platform/model/built-in.ts";
import type { CommonPasswords } from "../platform/secrets/common-passwords.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { LocationCache } from "../platform/copies/location-cache.ts";
import type { Log } from "../platform/runtime/log.ts";
import type { Tracing } from "../platform/ports/tracing.ts";
import type { Meter } from "../platform/ports/metrics.ts";
import type { Names } from "../platform/model/names.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { Shards } from "../platform/storage/shards.ts";
import type { Sealer } from "../platform/secrets/seal.ts";
import type { PasswordGrant } from "./grants/grant-step.ts";
import type { FindResource } from "./model/resource.ts";
import type { Mails, Pages } from "./pages/port.ts";
import type { MailNotice, SendMail } from "../platform/ports/mail.ts";
import type { GuessCounter } from "./sign-in/guess-counter.do.ts";
import type { LoginAttempts } from "./sign-in/login-attempts.do.ts";
import type { UnregisteredPolicy } from "./unregistered/unregistered.ts";
import type { Subject } from "./users/user-store.ts";

/** The dependencies of the OAuth service. */
export interface OAuthDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  /** The directory, and shards with sign-ins. */
  readonly shards: Shards;
  readonly loginAttempts: DurableObjectNamespace<LoginAttempts>;
  /** Undefined: sign-ins are not counted by network and password. */
  readonly guessCounters: DurableObjectNamespace<GuessCounter> | undefined;
  /** Limits the authentications of one client. */
  readonly clientLimit: RateLimit;
  /** Limits the sign-ins that strangers of one network begin and a row keeps. */
  readonly keptLimit: RateLimit;
  readonly sealer: Sealer;
  readonly isolate: Isolate;
  readonly location: LocationCache;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  readonly pathPrefix: string;
  readonly publicUrl: string;
  /** The origin of the pages if they have their own host, else empty. */
  readonly authUrl: string;
  /** The origins of services, pages and content. Empty texts among them mean nothing. */
  readonly ownOrigins: readonly string[];
  /** Finds the service behind a public path (RFC 8707). */
  readonly findResource: FindResource;
  /** Which clients may be used without a registration by an operator. */
  readonly unregisteredClients: UnregisteredPolicy;
  /** All of them are valid, so an operator can rotate them. */
  readonly operatorSecrets: readonly string[];
  /** Allows identity providers on loopback hosts and plain http. */
  readonly allowLoopback: boolean;
  /** The callers that may use the password grant. */
  readonly passwordGrant: PasswordGrant;
  readonly commonPasswords: CommonPasswords;
  /** The form of a user's `sub`. */
  readonly subject: Subject;
  readonly audit: AuditTrail;
  readonly pages: Pages;
  /** Called when the database was restored. Drops cached copies of it. */
  readonly onRestored?: () => void;
  readonly mails: Mails;
  /** Undefined: the platform sends no mail. */
  readonly sendMail: SendMail | undefined;
  /** A browser session ends after this time without use. Undefined: only its age ends it. */
  readonly sessionIdleMs: number | undefined;
  /** People may sign in by passkeys. */
  readonly usesPasskeys: boolean;
  /** The notices that people get by mail. */
  readonly mailNotices: readonly MailNotice[];
  /** Tags of the pages' languages. */
  readonly uiLocales: readonly string[];
}
