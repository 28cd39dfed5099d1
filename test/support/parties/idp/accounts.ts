import { put } from "../../platform/operator.ts";
import type { Provider } from "./scripted-provider.ts";
import type { Application } from "./application.ts";

/** The user's account there, as `claimsFor` names it. */
export const subjectOf = ({ email }: Pick<Application, "email">): string => `account of ${email}`;

/** As an operator does it. */
export const linkAccount = (app: Pick<Application, "email">, { id }: Pick<Provider, "id">): Promise<unknown> =>
  put(`users/${app.email}/identities/${id}`, { subject: subjectOf(app) });
