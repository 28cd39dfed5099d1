import { BrokenAnswer, Connection, type Answer } from "./connection.ts";
import type { Work } from "./load.ts";

/** A request as bytes, sent again and again, and the check of its answers. */
export interface Exchange {
  readonly request: Buffer;
  readonly status: number;
  /** Says what is wrong with an answer. Called for the first answer and for some later ones. */
  fault(answer: Answer): string | undefined;
}

export interface ExchangeInit {
  readonly method: "GET" | "POST" | "PUT";
  /** Path and query. */
  readonly path: string;
  readonly host: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** At most one of the three. */
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly file?: { readonly type: string; readonly bytes: Buffer };
  /** The expected status; 200 unless told. */
  readonly status?: number;
  /** Checks the JSON of the answer. */
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

/** One answer of so many is read in full; all are checked for their status. */
const READ_EVERY = 64;

/** Repeats the exchange; each client has a connection of its own. */
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

/** Asks over a connection; another status ends the bench. */
export async function askFor(status: number, connection: Connection, request: Buffer): Promise<Answer> {
  const answer = await connection.ask(request);
  if (answer.status !== status) throw broken(`status ${answer.status}`, answer);
  return answer;
}

const expectStatus = (answer: Answer, status: number): string | undefined =>
  answer.status === status ? undefined : `status ${answer.status}`;

export const broken = (wrong: string, answer: Answer): BrokenAnswer =>
  new BrokenAnswer(`${wrong}\n${answer.text().slice(0, 2_000)}`);

export const basic = (id: string, secret: string): string =>
  `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`;

export interface Call extends Body {
  /** The expected status; 200 unless told. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer to `call`, read whole. */
export interface Called {
  readonly headers: Headers;
  readonly text: string;
  json(): any;
}

/** Sends one request for a set-up, by Node's own client. `address` is absolute; redirects are not followed. */
export async function call(method: string, address: string, request: Call = {}): Promise<Called> {
  const { status = 200, headers } = request;
  const [type, body] = bodyOf(request);
  const response = await fetch(address, {
    method,
    redirect: "manual",
    headers: { accept: "application/json", ...(type !== undefined && { "content-type": type }), ...headers },
    body: type === undefined ? undefined : body,
  });
  const text = await response.text();
  if (response.status !== status)
    throw new BrokenAnswer(
      `${method} ${new URL(address).pathname}: status ${response.status}\n${text.slice(0, 2_000)}`,
    );
  return { headers: response.headers, text, json: () => (text === "" ? undefined : JSON.parse(text)) };
}
