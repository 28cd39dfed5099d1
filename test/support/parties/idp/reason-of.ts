import { env } from "cloudflare:workers";

/** Returns the reason of a refused request from the audit log. */
export async function reasonOf(response: Response): Promise<string> {
  const row = env.DB.prepare("SELECT group_concat(reason, ' | ') AS reason FROM audit_entry WHERE request_id = ?");
  return (await row.bind(response.headers.get("plat-request-id")).first<string>("reason")) ?? "";
}
