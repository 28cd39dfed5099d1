/** An answer that has come to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An answer with its JSON: undefined without a body, and after a redirect or a refusal. */
export interface JsonAnswer extends Answer {
  readonly body: unknown;
  /** The address of the request. */
  readonly address: string;
}

/** Reads the body to its end. Throws if it breaks off, or is a success that is not JSON. */
export async function readJson(response: Response): Promise<JsonAnswer> {
  const { status, headers } = response;
  const text = await response.text();
  const body: unknown = status >= 300 || text === "" ? undefined : JSON.parse(text);
  return { status, headers, text, body, address: response.url };
}

/** An answer whose `response` can still be read. `text` is empty if the body is a stream that has not come yet. */
export interface KeptAnswer extends Answer {
  readonly response: Response;
}

/** Waits for the body of a refusal or of JSON, and leaves any other body to be read as it comes. */
export async function keepResponse(response: Response): Promise<KeptAnswer> {
  const { status, headers } = response;
  const isWhole = status >= 400 || /^application\/([^;]*\+)?json\b/i.test(headers.get("content-type") ?? "");
  const text = isWhole ? await response.clone().text() : "";
  return { status, headers, text, response };
}
