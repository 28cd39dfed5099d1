import type { SignInTimes } from "../model/auth-times.ts";
import type { HintBounds } from "../model/authorization.ts";
import type { Binding } from "../model/binding.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { ExpectedUser } from "./expected-user.ts";

/** Who the user is, and how that is known. */
export interface Identity extends SignInTimes {
  readonly user: UserRecord;
  /** The id of the browser's session; of a hint, of the session that it came of. */
  readonly sid: string;
  /** What the provider that vouched is bound to. */
  readonly binding: Binding;
  readonly from: "sign-in" | "hint" | "session";
  /** A hint's grant, with which what comes of it goes on, and its bounds. */
  readonly hint?: HintBounds & { readonly grantId: string };
}

/** What came of an `id_token_hint`. */
export interface Hint {
  readonly expectedUser: ExpectedUser;
  /** Its user, where it holds. */
  readonly identity: Identity | undefined;
}
