import { Response, type Request } from "miniflare";

/**
 * The world outside the platform, as the tests of the `worker` project see it: every `fetch` that leaves the runtime comes
 * here, into Node. A test says what is answered where (`test/support/outside.ts`) and asks what came; nothing goes on to
 * a network. Each test takes host names of its own, since all files share this one world.
 */
export interface OutsideAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** A body of so many bytes instead. */
  readonly bodyBytes?: number;
  /** Nothing comes, or headers and a first byte and then nothing more. */
  readonly hangs?: "at once" | "in the body";
}

export interface OutsideRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export const CONTROL_HOST = "outside.test";
/** Longer than anybody waits, and the end of what hangs. */
const HANG_MS = 15_000;

const answers = new Map<string, OutsideAnswer>();
const requests = new Map<string, OutsideRequest[]>();

export async function outsideWorld(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (url.hostname === CONTROL_HOST) return control(url, request);
  const address = `${url.origin}${url.pathname}`;
  const headers = Object.fromEntries(request.headers);
  const seen = { method: request.method, url: request.url, headers, body: await request.text() };
  requests.set(address, [...(requests.get(address) ?? []), seen]);
  const answer = answers.get(address);
  return answer === undefined ? new Response(`nobody answers at ${address}`, { status: 502 }) : respond(answer);
}

/** `POST /answers {address, answer}`, `GET /requests?address=`. */
async function control(url: URL, request: Request): Promise<Response> {
  if (request.method === "GET") {
    const address = url.searchParams.get("address") ?? "";
    const seen = requests.get(address) ?? [];
    requests.delete(address);
    return Response.json(seen);
  }
  const { address, answer } = (await request.json()) as { address: string; answer: OutsideAnswer };
  answers.set(address, answer);
  return new Response(null, { status: 204 });
}

async function respond({ status = 200, headers = {}, body = "", bodyBytes, hangs }: OutsideAnswer): Promise<Response> {
  if (hangs === "at once") await hang();
  if (hangs !== "in the body")
    return new Response(bodyBytes === undefined ? body : new Uint8Array(bodyBytes).fill(0x20), { status, headers });
  const stalled = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    pull: () => hang(),
  });
  return new Response(stalled, { status, headers });
}

const hang = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, HANG_MS).unref();
  });
