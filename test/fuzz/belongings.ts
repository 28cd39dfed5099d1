import { encodePng, gradient } from "../support/images.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

/** A client with what it may have: a topic with events, and files. */
export interface Belongings {
  readonly client: TestClient;
  readonly token: string;
  readonly topic: { readonly owner: string; readonly eventType: string; readonly path: string };
  readonly privateFile: string;
  readonly publicFile: string;
}

export async function belongings(): Promise<Belongings> {
  const client = await makeClient();
  const token = await tokenFor(client);
  const topic = await makeTopic(token);
  await call(`${topic.path}/publish`, { token, json: [{ payload: "1" }, { payload: "2" }, { payload: "3" }] });
  const privateFile = await makeFile(token, "files", "picture");
  const publicFile = await makeFile(token, "public/files", "picture");
  return { client, token, topic, privateFile, publicFile };
}

export async function makeTopic(token: string): Promise<Belongings["topic"]> {
  const made = await call("/pubsub/v1/topics", { token, json: { eventType: unique("orders") } });
  const path = new URL(made.headers.get("location") ?? "", ORIGIN).pathname;
  const [owner = "", eventType = ""] = path.split("/").slice(-2);
  return { owner, eventType, path };
}

type Kind = "text" | "picture";
const TYPES = { text: "binary/octet-stream", picture: "image/png" } as const;

export const reserve = async (
  token: string,
  place: string,
  kind: Kind = "text",
): Promise<{ id: string; uploadLink: string; commitLink: string }> =>
  expectJson(await call(`/media/v2/${place}`, { token, json: { "Content-Type": TYPES[kind] } }), 200);

export async function upload(token: string, place: string, kind: Kind) {
  const file = await reserve(token, place, kind);
  const body = kind === "text" ? "some content" : await encodePng(gradient(16, 16));
  await call(file.uploadLink, { method: "PUT", body, headers: { "content-type": TYPES[kind] } });
  return file;
}

export async function makeFile(token: string, place: string, kind: Kind): Promise<string> {
  const file = await upload(token, place, kind);
  const committed = await call(file.commitLink, { method: "POST", token, json: { album: "summer" } });
  return (await expectJson(committed, 202)).id;
}
