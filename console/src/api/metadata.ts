import { PLATFORM_URL } from "../session/config.ts";
import { answer, operations } from "./client.ts";

/** Replaces a file's metadata by this text, unparsed, so that numbers which JavaScript would change stay as typed. */
export async function replaceMetadata(fileId: string, json: string): Promise<void> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const address = `${PLATFORM_URL}/admin/v1/files/${encodeURIComponent(fileId)}/metadata`;
  const response = await operations.fetch(address, { method: "PUT", headers, body: json });
  const { status } = response;
  const data: unknown = await response.json();
  await answer(Promise.resolve({ status, data, headers: response.headers }));
}
