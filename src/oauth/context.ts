import type { AnyCall, Refusal, Issuer } from "./call.ts";
import type { Problem } from "../http/errors.ts";
import type { RateLimit } from "../http/rate-limit.ts";
import type { BuiltIn } from "../platform/built-in.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Sealer } from "../platform/seal.ts";
import type { Directory } from "./directory.ts";
import type { Federation } from "./federation/federation.ts";
import type { OAuthFailure } from "./failure.ts";
import type { AuditTrail } from "../platform/audit.ts";
import type { PasswordGrant } from "./grants/password-policy.ts";
import type { Pages } from "./ports.ts";
import type { CodeStore } from "./store/code-store.ts";
import type { Accounts } from "./sign-in/accounts.ts";
import type { ConsentStore } from "./store/consent-store.ts";
import type { EndAll } from "./store/end-all-store.ts";
import type { GrantListStore } from "./store/grant-list-store.ts";
import type { RefreshStore } from "./store/refresh-store.ts";
import type { SessionStore } from "./store/session-store.ts";
import type { TrustStore } from "./store/trust-store.ts";
import type { UserStore } from "./store/user-store.ts";
import type { StrictVerifier } from "./tokens/access-token.ts";
import type { Trust } from "./tokens/trust.ts";

/** What the endpoints of this room share; made once in create.ts. */
export interface OAuthContext {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly log: Log;
  readonly directory: Directory;
  readonly trust: Trust;
  readonly verifier: StrictVerifier;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly accounts: Accounts;
  /** Requests of a client that proved itself. */
  readonly clientLimit: RateLimit;
  readonly passwordGrant: PasswordGrant;
  readonly federation: Federation;
  readonly codes: CodeStore;
  readonly refreshGrants: RefreshStore;
  readonly grantLists: GrantListStore;
  readonly consents: ConsentStore;
  /** Ends what a user, say, got until now. */
  readonly endings: Pick<EndAll, "endAll" | "forgetSignedOut"> & Pick<TrustStore, "voidStatement">;
  readonly audit: AuditTrail;
  readonly pages: Pages;
  /** Tags of the languages that the pages speak. */
  readonly uiLocales: readonly string[];
  issuerOf(call: AnyCall): Issuer;
  /** Below which `/authorize` and the other pages are: the issuer, or the same at `AUTH_URL`. */
  pagesOf(call: AnyCall): string;
  /** The failure as an answer, with its exact reason in the log and in the audit log. */
  refuse(call: AnyCall, action: string, refusal: OAuthFailure): Response;
  /** The same record for a refusal that is answered in another way. */
  noteRefusal(call: AnyCall, action: string, refusal: Refusal): void;
  /** Revocations cannot be read: nothing is called valid or invalid. */
  unavailable(): Problem;
}
