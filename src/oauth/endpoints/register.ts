import { json, type Call } from "../../http/route.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import { randomSecret } from "../../platform/runtime/random.ts";
import { failure } from "../model/failure.ts";
import { readMetadata } from "../unregistered/metadata.ts";
import { SELF_REGISTERED, type UnregisteredPolicy } from "../unregistered/unregistered.ts";
import type { UnregisteredStore } from "../unregistered/unregistered-store.ts";
import type { TokenEndpointDeps } from "./deps.ts";

export interface RegisterDeps extends TokenEndpointDeps {
  readonly unregisteredClients: UnregisteredPolicy;
  readonly unregisteredStore: UnregisteredStore;
  readonly allowLoopback: boolean;
  readonly ownOrigins: readonly string[];
}

/**
 * `POST /register` (RFC 7591): a client registers itself, if the deployment allows it. It has the rights of a client
 * that no operator registered (unregistered/unregistered.ts), and no secret. Unsupported metadata is replaced, and the
 * response shows the values in use (RFC 7591 3.2.1). Anybody may call this, so a network may register 20 clients a day,
 * and at most 5,000 registered clients may be unused: then the oldest makes room (unregistered-store.ts).
 */
export async function register(deps: RegisterDeps, call: Call<unknown, unknown, string, undefined>): Promise<Response> {
  const { nowMs, request } = call;
  const refuse = (...why: Parameters<typeof failure>) => deps.refuse(call, "register", failure(...why));
  if (deps.unregisteredClients !== "registration")
    return refuse("registration_not_supported", "Clients do not register themselves here: an operator does it.");
  const read = readMetadata(JSON.parse(call.body) as Readonly<Record<string, unknown>>, {
    origin: undefined,
    allowLoopback: deps.allowLoopback,
    ownOrigins: deps.ownOrigins,
  });
  if (!read.ok) return refuse(read.error.error, read.error.description);
  const metadata = read.value;
  const clientId = SELF_REGISTERED + randomSecret(deps.random);
  const network = await sha256Hex(`registers ${networkOf(request.headers.get("cf-connecting-ip") ?? "")}`);
  const added = await deps.unregisteredStore.register(
    { id: clientId, metadata: JSON.stringify(metadata), network },
    nowMs,
  );
  if (!added) return refuse("temporarily_unavailable", "Too many clients have registered themselves. Try again later.");
  deps.log.info("client registered itself", { requestId: call.requestId, clientId, name: metadata.name });
  const { name, redirectUris, grantTypes, authMethod, jwks, jwksUri } = metadata;
  const body = {
    client_id: clientId,
    client_id_issued_at: Math.floor(nowMs / 1000),
    ...(name === "" ? {} : { client_name: name }),
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: ["code"],
    token_endpoint_auth_method: authMethod || "none",
    ...(jwks === "" ? {} : { jwks: JSON.parse(jwks) as unknown }),
    ...(jwksUri === "" ? {} : { jwks_uri: jwksUri }),
  };
  return json(201, body, { "cache-control": "no-store", pragma: "no-cache" });
}
