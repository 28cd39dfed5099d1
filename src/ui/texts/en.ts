import type { Texts } from "./texts.ts";

export const en: Texts = {
  signIn: {
    title: "Sign in",
    lead: "to continue to {client}",
    leadInTenant: "to continue to {client} in {tenant}",
    email: "E-mail address",
    password: "Password",
    submit: "Sign in",
    failed: "Error",
    faults: {
      wrong: "The e-mail address or the password is wrong.",
      blocked: "There were too many unsuccessful authentication attempts. Try again later.",
      stale: "This page was open for too long, or your browser does not accept cookies. Please sign in again.",
      another:
        "The application asks for the person whose address is filled in. To use another one, sign out there first.",
      provider: "The other service did not confirm who you are, or your address is not known here.",
    },
  },
  confirmLink: {
    title: "Confirm your account",
    lead: "{provider} says that you are {user}.",
    once: "You sign in by {provider} for the first time. Confirm it by the password of your account here. You are asked this once.",
    submit: "Confirm and sign in",
    wrong: "The password is wrong.",
    otherwise: "If you do not know the password, close this window and ask whoever manages your account.",
  },
  chooseTenant: {
    title: "Choose a workspace",
    lead: "{client} will open the one that you choose.",
    user: "Signed in as {user}",
  },
  consent: {
    title: "Allow access?",
    lead: "{client}, an application of {tenant}, asks for access to your account. You are not a member there.",
    asked: "If you allow it, it can",
    identity: "know who you are: {user}",
    inPlace: "act for you in {place}:",
    nowhere: "act for you:",
    lasts: "go on while you are away",
    takeBack: "You can remove its access on your account page at any time.",
    allow: "Allow",
    deny: "Deny",
    stale: "This page was out of date, so nothing was done. Please decide again.",
  },
  account: {
    title: "Your account",
    user: "Signed in",
    since: "Since {time}",
    sinceByProvider: "Since {time}, by {provider}",
    signOut: "Sign out of this browser",
    applications: "Applications with access",
    applicationsLead:
      "You signed in to these or allowed them to know who you are. They can act for you, also while you are away, until you remove their access. Signing in to one again gives it back.",
    noApplications: "No application has lasting access to your account.",
    more: "There are more. They appear here as you remove others.",
    inPlace: "In {place}: {scopes}",
    nowhere: "In no workspace: {scopes}",
    given: "Access since {time}",
    lastUsed: "last used {time}",
    removeAccess: "Remove access",
    changePassword: "Change password",
    changePasswordLead:
      "Everybody who is signed in by the old password is signed out, and applications lose their access. You stay signed in here.",
    oldPassword: "Old password",
    newPassword: "New password, 8 to 256 characters",
    repeated: "New password again",
    endAll: "Sign out everywhere",
    endAllLead: "Ends every sign-in in every browser, this one too, and the access of all applications.",
    notices: {
      removed: "The application has no access any more.",
      changed: "Your password is changed. Everybody else is signed out.",
      notChanged: "Nothing was changed: something else changed your account at the same moment. Please try again.",
      signedOut: "You are signed out of this browser.",
      ended: "You are signed out everywhere, and no application has access any more.",
    },
    faults: {
      stale: "This page was out of date, so nothing was done. Please try again.",
      wrong: "The old password is wrong.",
      blocked: "There were too many unsuccessful authentication attempts. Try again later.",
      length: "The new password must have 8 to 256 characters.",
      repeated: "The new password was typed in differently the second time.",
      same: "The new password is the old one.",
    },
  },
  errors: {
    request: {
      title: "This request cannot be completed",
      text: "The application that sent you here asked for something that this service does not accept. Go back to the application and try again. If that does not help, please contact its support.",
    },
    over: {
      title: "This sign-in is over",
      text: "It took too long, was completed already, or was begun in another browser. Go back to the application and sign in again.",
    },
    account: {
      title: "This did not work",
      text: "Nothing was done. Please open your account and try again.",
    },
    busy: {
      title: "Too many requests",
      text: "There were too many requests in a short time. Wait a minute, then try again.",
    },
    unavailable: {
      title: "Not available right now",
      text: "The service cannot answer at the moment. Please try again in a few minutes.",
    },
    internal: {
      title: "Something went wrong",
      text: "The fault is on our side. Please try again. If it happens again, contact support and give them the request ID below.",
    },
  },
  forDevelopers: "For the developers of the application",
  requestId: "Request ID: {id}",
  signedOut: {
    title: "You are signed out",
    text: "You can close this window now. If others use this computer, close all browser windows.",
  },
};
