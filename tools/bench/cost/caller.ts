import { BrokenAnswer } from "../lib/broken-answer.ts";

export interface Call {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body; at most one of the three. */
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly bytes?: { readonly type: string; readonly body: Buffer };
}

export interface Answer {
  readonly headers: Headers;
  readonly text: string;
  json(): any;
}

/** One request, whose answer is read whole. `address` is absolute; redirects are not followed. */
export async function call(method: string, address: string, request: Call = {}): Promise<Answer> {
  const { status = 200, headers, form, json, bytes } = request;
  const [type, body] =
    form !== undefined
      ? ["application/x-www-form-urlencoded", new URLSearchParams(form).toString()]
      : json !== undefined
        ? ["application/json", JSON.stringify(json)]
        : bytes !== undefined
          ? [bytes.type, new Uint8Array(bytes.body)]
          : [undefined, undefined];
  const response = await fetch(address, {
    method,
    redirect: "manual",
    headers: { accept: "application/json", ...(type !== undefined && { "content-type": type }), ...headers },
    body,
  });
  const text = await response.text();
  if (response.status !== status)
    throw new BrokenAnswer(
      `${method} ${new URL(address).pathname}: status ${response.status}\n${text.slice(0, 2_000)}`,
    );
  return { headers: response.headers, text, json: () => JSON.parse(text) };
}
