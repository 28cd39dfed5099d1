import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createTokenCheck, type Caller } from "./access-token.ts";
import { Deliveries } from "./deliveries.ts";
import { PlatformApi } from "./platform-api.ts";
import { ProductStore } from "./product-store.ts";
import { createProductsApi, type Answer } from "./products-api.ts";
import { Refusal } from "./refusal.ts";
import { readSettings, type Settings } from "./settings.ts";

/**
 * The catalog: a service of the platform, as a customer would write it. The way of a request from the gateway:
 *
 *   token verified (access-token.ts) → product and event written in one transaction (products-api.ts,
 *   product-store.ts) → answered → the event published (deliveries.ts, platform-api.ts)
 *
 * Ends with Ctrl-C or SIGTERM. It may be killed at any time: acknowledged changes are stored, and published after the
 * next start.
 */
function start(settings: Settings): void {
  const store = new ProductStore(settings.databasePath);
  const platform = new PlatformApi(settings);
  const deliveries = new Deliveries(store, platform, (message) => log({ level: "warn", message }));
  const checkToken = createTokenCheck(settings);
  const products = createProductsApi({ settings, store, platform, changed: () => deliveries.wake() });

  const server = createServer((message, response) => {
    void answer(settings, message, response, async (seen) => {
      const caller = await checkToken(message.headers.authorization);
      seen(caller);
      const { method = "", url = "/" } = message;
      const [contentType = ""] = (message.headers["content-type"] ?? "").split(";");
      return products(
        {
          method,
          url: new URL(url, settings.privateUrl),
          contentType: contentType.trim().toLowerCase(),
          body: (maxBytes) => readBody(message, maxBytes),
        },
        caller,
      );
    });
  });
  server.listen(settings.port, settings.host, () => {
    deliveries.start();
    console.log(`ready ${settings.privateUrl}`);
  });
  server.on("error", (error) => {
    console.error(`The catalog cannot listen on ${settings.host}:${settings.port}: ${error.message}`);
    process.exit(1);
  });
  const stop = async (): Promise<void> => {
    await new Promise((resolve) => server.close(resolve));
    await deliveries.stop();
    store.close();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
}

/** Sends the handler's answer, or the error object for an exception. Logs one line for each request. */
async function answer(
  { platform, platformUrl }: Settings,
  message: IncomingMessage,
  response: ServerResponse,
  work: (seen: (caller: Caller) => void) => Promise<Answer>,
): Promise<void> {
  const startedMs = performance.now();
  let sent: Answer;
  let reason: string | undefined;
  let caller: Caller | undefined;
  try {
    sent = await work((known) => (caller = known));
  } catch (error) {
    const refusal =
      error instanceof Refusal ? error : new Refusal("internal_service_error", "Something went wrong here.");
    reason = error instanceof Refusal ? error.reason : String((error as Error).stack ?? error);
    sent = { status: refusal.status, headers: refusal.headers, json: refusal.toJson(platformUrl) };
  }
  const body = sent.json === undefined ? undefined : Buffer.from(JSON.stringify(sent.json));
  response.writeHead(sent.status, {
    ...(body !== undefined && { "content-type": "application/json", "content-length": body.length }),
    ...sent.headers,
  });
  response.end(message.method === "HEAD" ? undefined : body);
  log({
    level: sent.status < 500 ? "info" : "error",
    method: message.method,
    path: message.url,
    status: sent.status,
    ms: Math.round(performance.now() - startedMs),
    // The gateway's request id, which the platform's log has too.
    requestId: message.headers[`${platform}-request-id`],
    tenant: caller?.tenant,
    client: caller?.client,
    reason,
  });
}

/**
 * Reads the whole body. One that is too large is read to its end and dropped, because closing the connection would
 * lose the answer.
 */
async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let length = Number(message.headers["content-length"] ?? 0);
  if (length <= maxBytes) {
    length = 0;
    for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) break;
      chunks.push(chunk);
    }
  }
  if (length <= maxBytes) return Buffer.concat(chunks);
  message.resume();
  throw new Refusal("bad_payload_size", `The body may have ${maxBytes} bytes at most.`);
}

/** One JSON line; never a token, never a body. */
const log = (line: Record<string, unknown>): void => console.error(JSON.stringify(line));

try {
  start(readSettings(process.env));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
