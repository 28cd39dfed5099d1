import { provenBy } from "../../support/parties/signing-client.ts";
import { call } from "../../support/platform/call.ts";

export const TOKEN = "/oauth2/v1/token";
export const GRANT = { grant_type: "client_credentials" };

/** Sends a request of a client that authenticates by this assertion: by default, for a token of its own. */
export const send = (assertion: string, more: Record<string, string> = {}, path = TOKEN): Promise<Response> =>
  call(path, { form: { ...GRANT, ...provenBy(assertion), ...more } });
