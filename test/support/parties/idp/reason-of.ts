import { env } from "cloudflare:workers";

/** Why the request of this answer was refused, as the operator reads it. */
export async function reasonOf(response: Response): Promise<string> {
  const row = env.DB.prepare("SELECT group_concat(reason, ' | ') AS reason FROM audit_entry WHERE request_id = ?");
  return (await row.bind(response.headers.get("plat-request-id")).first<string>("reason")) ?? "";
}
