/** One request as bytes, sent again and again, and what its answer must be. */
export interface Exchange {
  readonly request: Buffer;
  /** What is wrong with an answer; undefined when it is right. Called for the first answer and for some later ones. */
  fault(body: string): string | undefined;
}

export interface ExchangeInit {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  readonly host: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  /** Of the answer's JSON. */
  readonly holds: (body: any) => boolean;
}

export function exchange({ method, path, host, headers = {}, form, holds }: ExchangeInit): Exchange {
  const body = form === undefined ? "" : new URLSearchParams(form).toString();
  const content: Record<string, string> =
    form === undefined
      ? {}
      : { "content-type": "application/x-www-form-urlencoded", "content-length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host, accept: "application/json", ...content, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return {
    request: Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`),
    fault(text) {
      try {
        return holds(JSON.parse(text)) ? undefined : "not the answer that it must be";
      } catch {
        return "not JSON";
      }
    },
  };
}

export const basic = (id: string, secret: string): string =>
  `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`;

/** The exchange, once, for what a set-up needs of its answer. */
export async function ask(origin: string, init: Omit<ExchangeInit, "host">): Promise<any> {
  const { method, path, headers, form, holds } = init;
  const body = form === undefined ? undefined : new URLSearchParams(form);
  const response = await fetch(new URL(path, origin), { method, headers, body });
  const text = await response.text();
  const value: unknown = response.ok ? JSON.parse(text) : undefined;
  if (value === undefined || !holds(value)) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return value;
}
