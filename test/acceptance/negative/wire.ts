import { Agent, request as open } from "node:http";
import type { Client } from "../support/world.ts";
import { header, type Answer } from "./answer.ts";
import { checkLaws } from "./laws.ts";

/** Requests as no library would send them, over a socket of one's own; every answer is held to `laws.ts`. */
export interface Ask {
  readonly method?: string;
  /** A form; pairs where a name comes twice, text as it stands. */
  readonly form?: Record<string, string> | readonly (readonly [string, string])[] | string;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string | readonly string[]>;
  /** Client authentication by header. */
  readonly basic?: Client;
  readonly token?: string;
  readonly cookie?: string;
}

export const basic = ({ id, secret }: Client): string => `Basic ${btoa(`${encode(id)}:${encode(secret)}`)}`;
const encode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);

export const formText = (form: NonNullable<Ask["form"]>): string =>
  typeof form === "string" ? form : new URLSearchParams(form as Record<string, string>).toString();

/** Whatever was handed out or shown as a proof: nothing of it may stand in a log. */
export const secrets = new Set<string>();
/** Shorter texts are words that stand anywhere. */
const MIN_SECRET_CHARS = 16;
function keepSecret(...values: readonly (string | null | undefined)[]): void {
  for (const value of values) if ((value ?? "").length >= MIN_SECRET_CHARS) secrets.add(value ?? "");
}
const SECRET_NAMES = [
  "access_token",
  "refresh_token",
  "id_token",
  "id_token_hint",
  "code",
  "code_verifier",
  "client_secret",
  "password",
  "csrf",
];

/** A state stands in an address twice. */
const MAX_HEADER_BYTES = 128 * 1024;
const agent = new Agent({ keepAlive: true, maxSockets: 32 });

/** `path` as it is to stand in the request line. */
export async function send(origin: string, path: string, ask: Ask = {}): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  const body = ask.form === undefined ? ask.body : formText(ask.form);
  const method = ask.method ?? (body === undefined ? "GET" : "POST");
  const headers: Record<string, string | string[]> = {
    ...(ask.form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    ...(ask.basic === undefined ? {} : { authorization: basic(ask.basic) }),
    ...(ask.token === undefined ? {} : { authorization: `Bearer ${ask.token}` }),
    ...(ask.cookie === undefined || ask.cookie === "" ? {} : { cookie: ask.cookie }),
    ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    ...(ask.headers as Record<string, string | string[]> | undefined),
  };
  const answer = await new Promise<Answer>((resolve, reject) => {
    const request = open(
      { agent, hostname, port, path, method, headers, maxHeaderSize: MAX_HEADER_BYTES },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          const pairs = Object.entries(response.headersDistinct).map(
            ([name, values = []]) => [name, values.join("\n")] as const,
          );
          const asked = `${method} ${path.slice(0, 300)} ${String(body ?? "").slice(0, 300)}`;
          const [at = ""] = path.split("?");
          const status = response.statusCode ?? 0;
          resolve({ asked, method, path: at, status, headers: new Map(pairs), text, json: parse(text) });
        });
      },
    );
    // An answer may come before the body was taken, which ends the connection under it.
    request.on("error", reject);
    request.end(body);
  });
  rememberSecrets(ask, body, answer);
  checkLaws(answer);
  return answer;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function rememberSecrets(ask: Ask, body: string | Buffer | undefined, answer: Answer): void {
  keepSecret(ask.token, ask.basic?.secret);
  const [, query = "", fragment = ""] = /^[^?#]*\??([^#]*)#?(.*)$/.exec(header(answer, "location")) ?? [];
  const read = [new URLSearchParams(query), new URLSearchParams(fragment)];
  if (ask.form !== undefined && String(body).length < 20_000) read.push(new URLSearchParams(String(body)));
  for (const name of SECRET_NAMES) {
    keepSecret(...read.flatMap((parameters) => parameters.getAll(name)));
    const value: unknown = answer.json?.[name];
    if (typeof value === "string") keepSecret(value);
  }
  for (const line of header(answer, "set-cookie").split("\n")) keepSecret(/^[^=]*=([^;]*)/.exec(line)?.[1]);
}
