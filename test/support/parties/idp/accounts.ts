import { put } from "../../platform/operator.ts";
import type { Provider } from "./scripted-provider.ts";
import type { Application } from "./application.ts";

/** Returns the user's account at a provider, with the name that `claimsFor` uses. */
export const subjectOf = ({ email }: Pick<Application, "email">): string => `account of ${email}`;

/** Links an account as an operator does. */
export const linkAccount = (app: Pick<Application, "email">, { id }: Pick<Provider, "id">): Promise<unknown> =>
  put(`users/${app.email}/identities/${id}`, { subject: subjectOf(app) });
