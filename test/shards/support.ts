import { env } from "cloudflare:workers";
import { call, expectJson } from "../support/platform/call.ts";
import type { TestClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";

export const move = async (tenant: string, to: object): Promise<Response> =>
  call(`/admin/v1/tenants/${tenant}/move`, { token: await tokenFor(OPERATOR), json: to });

/** Lets the next sweep continue all moves. */
export const makeMovesDue = async (): Promise<void> =>
  void (await env.DB.exec("UPDATE tenant_move SET due_at = 1 WHERE due_at > 0"));

async function store(path: string, client: TestClient, text: string): Promise<string> {
  const token = await tokenFor(client);
  const send = () => call(path, { token, method: "POST", body: text, headers: { "content-type": "text/plain" } });
  const first = await send();
  // An isolate that comes to the old shard with a body that it has read finds out, and asks for it again.
  return (await expectJson(first.status === 503 ? await send() : first, 202)).id;
}
/** Stores a file of this text, and returns its id. */
export const storePublic = (client: TestClient, text = "x") => store("/media/v2/public/files", client, text);
export const storePrivate = (client: TestClient, text = "x") => store("/media/v2/files", client, text);
