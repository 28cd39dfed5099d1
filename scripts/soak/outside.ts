import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { startReceiver } from "../tour/receiver.ts";
import type { EventsLedger } from "./ledgers/events.ts";
import type { Random } from "./random.ts";

/** The world outside the platform: who receives pushed events, and a service behind the gateway. Both fail at times. */
export interface Outside {
  readonly receiverOrigin: string;
  /** The service's private address. */
  readonly sourceUrl: string;
  /** Numbers of requests that the service failed, as the path says them. */
  readonly failed: ReadonlySet<string>;
  /** When it last kept somebody waiting; `performance.now()`. */
  readonly hungMs: number;
  /** From then on nothing fails. */
  recover(): void;
  close(): Promise<void>;
}

const RECEIVER_FAULTS = 0.05;
const SERVICE_FAULTS = 0.03;
/** What hangs breaks off after so long. */
const HANG_MS = 3_000;

export async function startOutside(random: Random, events: EventsLedger, faults: boolean): Promise<Outside> {
  const state = { isFailing: faults, hungMs: Number.NEGATIVE_INFINITY };
  const refused = new Set<string>();
  const draws = { receiver: random.fork(), service: random.fork() };

  const receiver = await startReceiver(({ headers }, response) => {
    const id = headers["webhook-id"] ?? "";
    // Once for each event, so that the run's drain need not wait for the later of the platform's attempts.
    if (state.isFailing && !refused.has(id) && draws.receiver.chance(RECEIVER_FAULTS)) {
      refused.add(id);
      return fail(response, draws.receiver);
    }
    // Who called may be dead by now, and has to come again.
    if (!response.destroyed) events.pushed.add(id);
    response.writeHead(204).end();
  });

  const failed = new Set<string>();
  const service = createServer((request, response) => {
    request.resume();
    const path = request.url ?? "";
    if (state.isFailing && draws.service.chance(SERVICE_FAULTS)) {
      failed.add(path);
      if (draws.service.chance(0.5)) return void response.writeHead(502).end();
      state.hungMs = performance.now();
      return hang(response);
    }
    const self = `${sourceUrl}${path.slice("/v1".length)}`;
    const identity = Object.entries(request.headers).filter(([name]) => /-(tenant|client)$/.test(name));
    const body = JSON.stringify({ self, identity: Object.fromEntries(identity) });
    response.writeHead(200, { "content-type": "application/json", link: `<${self}>; rel="self"` }).end(body);
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const sourceUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}/v1`;

  return {
    receiverOrigin: receiver.origin,
    sourceUrl,
    failed,
    get hungMs() {
      return state.hungMs;
    },
    recover() {
      state.isFailing = false;
    },
    async close() {
      service.closeAllConnections();
      service.close();
      await receiver.close();
    },
  };
}

const fail = (response: ServerResponse, random: Random): void =>
  random.chance(0.5) ? void response.writeHead(502).end() : hang(response);

const hang = (response: ServerResponse): void => void setTimeout(() => response.destroy(), HANG_MS);
