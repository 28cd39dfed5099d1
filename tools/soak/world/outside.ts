import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { startReceiver } from "../../../examples/tour/receiver.ts";
import type { EventsLedger } from "../ledgers/events.ts";
import type { Fault, FaultsLedger } from "../ledgers/faults.ts";
import type { Random } from "../lib/random.ts";

/** The outside world: the receiver of pushed events, and a service behind the gateway. Both fail at times. */
export interface Outside {
  readonly receiverOrigin: string;
  /** The service's private address. */
  readonly sourceUrl: string;
  /** Paths of the requests that the service failed. */
  readonly failed: ReadonlySet<string>;
  /** When a request last hung; `performance.now()`. */
  readonly hungMs: number;
  /** Ends all failures. */
  recover(): void;
  close(): Promise<void>;
}

const RECEIVER_FAULTS = 0.05;
const SERVICE_FAULTS = 0.03;
/** A hanging request is cut after so long. */
const HANG_MS = 3_000;
const KEEP_ALIVE_MS = 600_000;
const ANSWERS = "answered 502";
const HANGS = "hung and broke off";
type Way = typeof ANSWERS | typeof HANGS;

export interface OutsideDeps {
  readonly random: Random;
  readonly events: EventsLedger;
  readonly faults: FaultsLedger;
  readonly isFailing: boolean;
}

export async function startOutside({ random, events, faults, isFailing }: OutsideDeps): Promise<Outside> {
  const state = { isFailing, hungMs: Number.NEGATIVE_INFINITY };
  const refused = new Set<string>();
  const draws = { receiver: random.fork(), service: random.fork() };

  const fail = (response: ServerResponse, fault: Fault, draw: Random): Way => {
    const way = draw.chance(0.5) ? ANSWERS : HANGS;
    faults.happened(fault, way);
    if (way === ANSWERS) response.writeHead(502).end();
    else setTimeout(() => response.destroy(), HANG_MS);
    return way;
  };

  const receiver = await startReceiver(({ headers }, response) => {
    const id = headers["webhook-id"] ?? "";
    // Fails once for each event, so that the drain need not wait for later attempts.
    if (state.isFailing && !refused.has(id) && draws.receiver.chance(RECEIVER_FAULTS)) {
      refused.add(id);
      fail(response, "receiver failed", draws.receiver);
      return;
    }
    // The caller may have been killed; then it has to deliver again.
    if (!response.destroyed) events.pushed.add(id);
    response.writeHead(204).end();
  });

  const failed = new Set<string>();
  const service = createServer((request, response) => {
    request.resume();
    const path = request.url ?? "";
    if (state.isFailing && draws.service.chance(SERVICE_FAULTS)) {
      failed.add(path);
      if (fail(response, "service failed", draws.service) === HANGS) state.hungMs = performance.now();
      return;
    }
    const self = `${sourceUrl}${path.slice("/v1".length)}`;
    const identity = Object.entries(request.headers).filter(([name]) => /-(tenant|client)$/.test(name));
    const body = JSON.stringify({ self, identity: Object.fromEntries(identity) });
    response.writeHead(200, { "content-type": "application/json", link: `<${self}>; rel="self"` }).end(body);
  });
  // Closing a kept connection at the moment of its next request would look like a failure.
  service.keepAliveTimeout = KEEP_ALIVE_MS;
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
