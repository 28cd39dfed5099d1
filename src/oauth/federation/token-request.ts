import { toBase64, utf8 } from "../../platform/text/encoding.ts";
import type { Init } from "./fetch-json.ts";
import type { ProviderMetadata } from "./metadata.ts";

/** The platform's client at a provider. */
export interface ClientThere {
  readonly clientId: string;
  readonly secret: string;
}

/** A request to a provider's token endpoint, as its own client of the platform. */
export function tokenRequest(
  fields: Readonly<Record<string, string>>,
  { clientId, secret }: ClientThere,
  { clientAuthentication }: Pick<ProviderMetadata, "clientAuthentication">,
): Init {
  const body = new URLSearchParams(fields);
  const headers: Record<string, string> = {};
  if (clientAuthentication === "client_secret_post") {
    body.set("client_id", clientId);
    body.set("client_secret", secret);
  } else headers["authorization"] = `Basic ${toBase64(utf8(`${formEncode(clientId)}:${formEncode(secret)}`))}`;
  return { method: "POST", headers, body };
}

/** Id and secret are form-urlencoded before they are joined (RFC 6749 2.3.1). */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);
