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
    },
  },
  chooseTenant: {
    title: "Choose a workspace",
    lead: "{client} will open the one that you choose.",
    user: "Signed in as {user}",
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
