import { expectDocumented } from "../support/documented.ts";
import type { Operation } from "./operations.ts";
import type { Sent } from "./send.ts";

/** What holds of every answer, whatever was asked. */

/** Words of the inside: of the database, of the language, of files. */
const INSIDE =
  /SQLITE|D1_(?:[A-Z]+_)?ERROR:|\b(?:Type|Range|Syntax|Reference)Error\b|\bat \S+ \(|\.[jt]s:\d+|node_modules|\/src\/|\[object |Cannot read prop|is not a function|durable object|miniflare/i;

export async function expectLawful(operation: Operation, { url, response, words, json }: Sent): Promise<void> {
  const { status } = response;
  const answer = await response.clone().text();
  const fault = (text: string) => new Error(`${status}: ${text}: ${answer.slice(0, 1000)}`);
  // Nothing is broken and nothing is busy here, so a 503 hides a fault; deep health misses the sweeps, which no cron
  // runs.
  const isExpected = operation.template === "/health/deep" && /"name":"sweeps"[^}]*"status":"fail"/.test(answer);
  if (status >= 500 && !isExpected) throw fault("a fault of the platform");
  if (!/^[0-9a-f]{32}$/.test(response.headers.get("plat-request-id") ?? "")) throw fault("no request id");
  await expectDocumented(operation.method, url.pathname, response, json);
  const isContent = operation.template.startsWith("/media/v2/content") && status < 300;
  const own = isContent ? "" : INSIDE.exec(answer)?.[0];
  if (own && !words.toLowerCase().includes(own.toLowerCase()) && !operation.template.startsWith("/docs"))
    throw fault(`a word of the inside, ${own}`);
  if (!response.headers.get("content-type")?.startsWith("application/json")) return;
  const body: any = JSON.parse(answer);
  if (status < 400 || isExpected || typeof body.error === "string") return;
  if (body.status !== status || !Array.isArray(body.details) || typeof body.message !== "string" || body.message === "")
    throw fault("not the error object");
  if (/\b(?:undefined|NaN)\b/.exec(body.message) && !/undefined|NaN/.test(words))
    throw fault("a message without a word");
}
