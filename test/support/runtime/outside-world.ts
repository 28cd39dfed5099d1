import { Response, type Request } from "miniflare";

/**
 * The world outside the platform, for the tests of the `worker` project. Every `fetch` that leaves the runtime comes
 * here, into Node, and never reaches a network. A test sets the answers (`test/support/outside.ts`) and reads the
 * requests. Each test uses its own host names, because all files share this world.
 */
export interface OutsideAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The body is the challenge of the request, as text or as JSON. */
  readonly challenge?: "text" | "json";
  /** The size of a body in bytes, instead of `body`. */
  readonly bodyBytes?: number;
  /** The answer hangs: at once, or after the headers and a first byte. */
  readonly hangs?: "at once" | "in the body";
  /** True for a body without an end. */
  readonly endless?: boolean;
  /** True if the answer waits for the test (`release`). */
  readonly held?: boolean;
}

export interface OutsideRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** The number of requests to this address without an answer when this one came, including itself. */
  readonly parallel: number;
}

const CONTROL_HOST = "outside.test";
/** A hanging answer ends after this time, which is longer than anybody waits. */
const HANG_MS = 15_000;

/** The next answers at each address. The last one stays. */
const answers = new Map<string, OutsideAnswer[]>();
const waiting = new Map<string, number>();
/** The held requests, the oldest first. */
const held = new Map<string, (() => void)[]>();
const requests = new Map<string, OutsideRequest[]>();

export async function outsideWorld(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (url.hostname === CONTROL_HOST) return control(url, request);
  const address = `${url.origin}${url.pathname}`;
  const parallel = (waiting.get(address) ?? 0) + 1;
  waiting.set(address, parallel);
  try {
    const headers = Object.fromEntries(request.headers);
    const seen = { method: request.method, url: request.url, headers, body: await request.text(), parallel };
    requests.set(address, [...(requests.get(address) ?? []), seen]);
    const coming = answers.get(address) ?? [];
    const answer = coming.length > 1 ? coming.shift() : coming[0];
    if (answer === undefined) return new Response(`nobody answers at ${address}`, { status: 502 });
    if (answer.held === true)
      await new Promise<void>((resolve) => {
        held.set(address, [...(held.get(address) ?? []), resolve]);
      });
    return await respond(proving(answer, seen.body));
  } finally {
    waiting.set(address, waiting.get(address)! - 1);
  }
}

/**
 * Handles `POST /answers {address, answer}` (or an array of answers, one after the other), `POST /release {address,
 * count}`, `GET /requests?address=`, which also deletes them, and `GET /held?address=`, which returns their number.
 */
async function control(url: URL, request: Request): Promise<Response> {
  if (request.method === "GET") {
    const address = url.searchParams.get("address") ?? "";
    if (url.pathname === "/held") return Response.json(held.get(address)?.length ?? 0);
    const seen = requests.get(address) ?? [];
    requests.delete(address);
    return Response.json(seen);
  }
  const { address, answer, count } = (await request.json()) as {
    address: string;
    answer: OutsideAnswer | OutsideAnswer[];
    count: number;
  };
  if (url.pathname === "/release") for (const release of held.get(address)?.splice(0, count) ?? []) release();
  else answers.set(address, Array.isArray(answer) ? answer : [answer]);
  return new Response(null, { status: 204 });
}

function proving(answer: OutsideAnswer, asked: string): OutsideAnswer {
  if (answer.challenge === undefined) return answer;
  const { challenge } = JSON.parse(asked) as { challenge?: string };
  return { ...answer, body: answer.challenge === "text" ? `${challenge}\n` : JSON.stringify({ challenge }) };
}

async function respond(answer: OutsideAnswer): Promise<Response> {
  const { status = 200, headers = {}, body = "", bodyBytes, hangs, endless } = answer;
  if (hangs === "at once") await hang();
  if (endless === true) return new Response(streamWithoutEnd(), { status, headers });
  if (hangs !== "in the body") {
    const text = bodyBytes === undefined ? body : new Uint8Array(bodyBytes).fill(0x20);
    return new Response([101, 204, 205, 304].includes(status) ? null : text, { status, headers });
  }
  const stalled = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    pull: () => hang(),
  });
  return new Response(stalled, { status, headers });
}

/**
 * Far more chunks than anybody reads. After them the body hangs, because this code does not learn that a reader left.
 */
const ENDLESS_CHUNKS = 500;

function streamWithoutEnd(): ReadableStream<Uint8Array> {
  let chunks = 0;
  return new ReadableStream({
    async pull(controller) {
      chunks += 1;
      if (chunks > ENDLESS_CHUNKS) return hang();
      await new Promise((resolve) => setTimeout(resolve, 1).unref());
      controller.enqueue(new Uint8Array(65_536).fill(0x20));
    },
  });
}

const hang = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, HANG_MS).unref();
  });
