import { join } from "node:path";
import { afterAll } from "vitest";
import { readDevVars } from "../../../scripts/lib/local/dev-vars.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import { noteAnswer, noteRequest, noteSecret, secretsIn } from "../../support/secrets.ts";
import { started } from "./process/platform.ts";

/**
 * Notes the secrets that pass between a test file and what it speaks to, and fails the file in the end when a platform
 * that it started printed one of them, or something of the shape of one. Secrets that went over other ways than `fetch`
 * are found by their shape alone.
 */
const fetchNow = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const address = input instanceof Request ? input.url : new URL(input).href;
  noteRequest(address, new Headers(init?.headers ?? (input instanceof Request ? input.headers : {})), init?.body);
  const answer = await fetchNow(input, init);
  const { headers } = answer;
  // Streams and files are left alone: looking at them would change how they flow.
  const isTold =
    /\/(oauth2|admin|pubsub|media)\/v\d/.test(address) && headers.get("content-type") === "application/json";
  const body = isTold && Number(headers.get("content-length") ?? Infinity) < 65_536 ? await answer.clone().text() : "";
  noteAnswer(headers, body);
  return answer;
};

/** `npm start` prints the secrets of its demo, which are for whoever sits there. */
const SUMMARY = /^\s*demo (user|operator|client)\b.*$/gm;

/** `password in {"level":"info",…`, of every platform that this test file started. */
export function secretsPrinted(): string[] {
  for (const [name, value] of Object.entries(readDevVars(join(ROOT, ".dev.vars")))) noteParts(name, value);
  return started.flatMap(({ env, output }) => {
    for (const [name, value] of Object.entries(env)) if (/SECRET|PASSWORD|SEAL_KEYS/.test(name)) noteParts(name, value);
    const lines = output().replaceAll(SUMMARY, "").split("\n");
    return lines.flatMap((line) => secretsIn(line).map((what) => `${what} in ${line}`));
  });
}

afterAll(() => {
  const found = secretsPrinted();
  if (found.length > 0) throw new Error(`A started platform printed secrets:\n${found.join("\n")}`);
});

/** A list of keys has a name before each. */
function noteParts(name: string, value: string): void {
  for (const part of name.includes("SEAL_KEYS") ? value.split(/[,:]/) : [value]) noteSecret(name, part);
}
