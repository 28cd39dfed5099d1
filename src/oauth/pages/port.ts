import type { Mail, News } from "../../platform/ports/mail.ts";
import type { PageContext, ErrorView, FormPostView } from "./views/page.ts";
import type { SignInView, OutsideProviderView, ConfirmLinkView } from "./views/sign-in.ts";
import type { SecondFactorView, SetUpView, RecoveryCodesView, NewPasskeyView } from "./views/factors.ts";
import type { TenantChooserView, ConsentView, DeviceView } from "./views/consent.ts";
import type {
  ForgotView,
  NewPasswordView,
  InvitationView,
  ConfirmAddressView,
  LinkVoidView,
  LinkUsedView,
} from "./views/links.ts";
import type { AccountView } from "./views/account.ts";

/** The pages for people, which `ui/` makes. Each is a complete response with its security headers. */
export interface Pages {
  signIn(view: SignInView): Response;
  confirmLink(view: ConfirmLinkView): Response;
  outsideProvider(view: OutsideProviderView): Response;
  secondFactor(view: SecondFactorView): Response;
  setUpSecondFactor(view: SetUpView): Response;
  recoveryCodes(view: RecoveryCodesView): Response;
  newPasskey(view: NewPasskeyView): Response;
  chooseTenant(view: TenantChooserView): Response;
  /** The form sends `decision`: `allow` or `deny`. */
  consent(view: ConsentView): Response;
  device(view: DeviceView): Response;
  forgot(view: ForgotView): Response;
  newPassword(view: NewPasswordView): Response;
  linkVoid(view: LinkVoidView): Response;
  invitation(view: InvitationView): Response;
  confirmAddress(view: ConfirmAddressView): Response;
  linkUsed(view: LinkUsedView): Response;
  account(view: AccountView): Response;
  error(view: ErrorView): Response;
  formPost(view: FormPostView): Response;
  signedOut(view: PageContext): Response;
}

/** A mail with a link. */
export interface LinkMailView extends Pick<PageContext, "uiLocales" | "acceptLanguage" | "brand"> {
  /** The person's address, to which the mail goes. */
  readonly email: string;
  readonly link: string;
  /** An address of the pages. The mail shows its host. */
  readonly base: string;
  /** The name of the tenant or organization, for an invitation. */
  readonly place?: string;
}

/** A mail about the account. `link`: the account page. */
export interface NoticeMailView extends LinkMailView {
  readonly news: News;
  /** Undefined: somebody made the change in the browser below. */
  readonly by?: "operator" | undefined;
  readonly atMs: number;
  /** The browser and its place, as in AccountSession (views/account.ts). */
  readonly browser: string;
  readonly system: string;
  readonly country: string;
  readonly city: string;
}

/** The mails for people, which `ui/` makes. */
export interface Mails {
  reset(view: LinkMailView): Mail;
  verify(view: LinkMailView): Mail;
  invitation(view: LinkMailView): Mail;
  notice(view: NoticeMailView): Mail;
}
