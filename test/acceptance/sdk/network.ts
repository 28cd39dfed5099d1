/** A `fetch` over a poor network. `change` gets the path, which request to it this is, and the way to the platform. */
export function poorNetwork(
  change: (path: string, nth: number, pass: () => Promise<Response>) => Response | Promise<Response>,
) {
  const seen = new Map<string, number>();
  const requests: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(new Request(input).url).pathname;
    const nth = (seen.get(path) ?? 0) + 1;
    seen.set(path, nth);
    requests.push(`${init?.method ?? "GET"} ${path}`);
    return change(path, nth, () => globalThis.fetch(input, init));
  };
  return { fetch, requests };
}

/** `fetch` as a page has it, which is not told where a redirect leads. */
export const inPage: typeof globalThis.fetch = async (input, init) => {
  const answer = await fetch(input, init);
  if (init?.redirect !== "manual" || answer.status < 300 || answer.status >= 400) return answer;
  const hidden = { type: "opaqueredirect", status: 0, headers: new Headers(), body: null };
  return new Proxy(answer, {
    get: (target, name) =>
      name === "text" ? async () => "" : (Reflect.get({ ...hidden, url: target.url }, name) as unknown),
  });
};

/** A `fetch` that loses the answers of chosen requests after the platform did its work. */
export const losing = (isLost: (path: string, nth: number) => boolean) =>
  poorNetwork(async (path, nth, pass) => {
    const response = await pass();
    if (!isLost(path, nth)) return response;
    await response.body?.cancel();
    throw new TypeError("fetch failed");
  });

/** A `fetch` that breaks chosen answers off: their headers come, and a part of the body. */
export const breaking = (isBroken: (path: string, nth: number) => boolean) =>
  poorNetwork(async (path, nth, pass) => {
    const response = await pass();
    if (!isBroken(path, nth)) return response;
    const { status, headers } = response;
    const half = (await response.text()).slice(0, 5);
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(half)),
      pull: (controller) => controller.error(new TypeError("terminated")),
    });
    return new Response(broken, { status, headers });
  });

/** A body of several parts, one after each pause; ends with an error when the request is aborted. */
export function slowBody(parts: readonly string[], pauseMs: number, signal?: AbortSignal | null): ReadableStream {
  const rest = parts.values();
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (signal?.aborted === true) return controller.error(signal.reason);
      const { value, done } = rest.next();
      if (done === true) controller.close();
      else controller.enqueue(new TextEncoder().encode(value));
    },
  });
}
