import { BrokenAnswer } from "./broken-answer.ts";
import { Connection, type Answer } from "./connection.ts";
import type { Work } from "./load.ts";

/** One request as bytes, sent again and again, and what its answer must be. */
export interface Exchange {
  readonly request: Buffer;
  readonly status: number;
  /** What is wrong with an answer; undefined when it is right. Called for the first answer and for some later ones. */
  fault(answer: Answer): string | undefined;
}

export interface ExchangeInit {
  readonly method: "GET" | "POST" | "PUT";
  /** Path and query. */
  readonly path: string;
  readonly host: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body; at most one of the three. */
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly file?: { readonly type: string; readonly bytes: Buffer };
  /** Of the answer; 200 unless told. */
  readonly status?: number;
  /** Of the answer's JSON. */
  readonly holds: (body: any) => boolean;
}

export function exchange({ status = 200, holds, ...init }: ExchangeInit): Exchange {
  return {
    request: requestBytes(init),
    status,
    fault(answer) {
      try {
        return holds(JSON.parse(answer.body())) ? undefined : "not the answer that it must be";
      } catch {
        return "not JSON";
      }
    },
  };
}

/** A request as it goes over the wire. */
export function requestBytes(init: Omit<ExchangeInit, "holds" | "status">): Buffer {
  const { method, path, host, headers = {} } = init;
  const [type, body] = bodyOf(init);
  const content: Record<string, string> =
    type === undefined ? {} : { "content-type": type, "content-length": String(body.byteLength) };
  const lines = Object.entries({ host, accept: "application/json", ...headers, ...content });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n`), body]);
}

type Body = Pick<ExchangeInit, "form" | "json" | "file">;

function bodyOf({ form, json, file }: Body): [type: string | undefined, bytes: Buffer<ArrayBuffer>] {
  if (form !== undefined)
    return ["application/x-www-form-urlencoded", Buffer.from(new URLSearchParams(form).toString())];
  if (file !== undefined) return [file.type, Buffer.from(file.bytes)];
  return json === undefined ? [undefined, Buffer.alloc(0)] : ["application/json", Buffer.from(JSON.stringify(json))];
}

/** Of how many answers one is read in full; all are checked for their status. */
const READ_EVERY = 64;

/** The exchange, by each client over a connection of its own. */
export const repeated = (
  { request, status, fault }: Exchange,
  place: { readonly host: string; readonly port: number },
): Work => ({
  async connect() {
    const connection = await Connection.open(place);
    let answers = 0;
    return {
      async step() {
        const answer = await connection.ask(request);
        const wrong = expectStatus(answer, status) ?? (answers++ % READ_EVERY === 0 ? fault(answer) : undefined);
        if (wrong !== undefined) throw broken(wrong, answer);
      },
      close: () => connection.close(),
    };
  },
});

export const expectStatus = (answer: Answer, status: number): string | undefined =>
  answer.status === status ? undefined : `status ${answer.status}`;

export const broken = (wrong: string, answer: Answer): BrokenAnswer =>
  new BrokenAnswer(`${wrong}\n${answer.text().slice(0, 2_000)}`);

export const basic = (id: string, secret: string): string =>
  `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`;

/** The exchange, once, for what a set-up needs of its answer. */
export async function ask(origin: string, init: Omit<ExchangeInit, "host" | "status">): Promise<any> {
  const { method, path, headers, holds } = init;
  const [type, body] = bodyOf(init);
  const content: Record<string, string> = type === undefined ? {} : { "content-type": type };
  const response = await fetch(new URL(path, origin), {
    method,
    headers: { ...content, ...headers },
    body: method === "GET" ? undefined : body,
  });
  const text = await response.text();
  const value: unknown = response.ok && text !== "" ? JSON.parse(text) : undefined;
  if (!response.ok || !holds(value)) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return value;
}
