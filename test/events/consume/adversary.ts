import { expect } from "vitest";
import { readerOf } from "../../../src/events/access/reader.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { eventsApp } from "../support/events-app.ts";
import { someClient } from "../support/some-client.ts";
import type { TestTopic } from "../support/test-topic.ts";
import { BELOW_A_TOPIC } from "../support/topic-operations.ts";

/** Secrets that the adversary learned in some other way, and tries to use. */
export interface Stolen {
  readonly token: string | undefined;
  readonly eventId: string | undefined;
}

/**
 * A second tenant that attacks a topic with every operation and every token that it can get or steal. Each answer is as
 * if the topic did not exist; with the scope for its own tenant's events it finds none. The model of the real readers
 * proves that nothing of the topic changes.
 */
export async function adversaryOf({ owner, path }: TestTopic): Promise<Adversary> {
  const app = eventsApp();
  const tokens = tokensOf(owner);
  const limited = tokens.filter(({ isLimited }) => isLimited);
  const readers = await Promise.all(limited.map(({ as }) => readerOf(as, "own_tenant", null)));
  const attack = async (stolen: Stolen): Promise<void> => {
    const { as, isLimited } = tokens[next % tokens.length]!;
    const operation = BELOW_A_TOPIC[Math.floor(next / tokens.length) % BELOW_A_TOPIC.length]!;
    next += 1;
    const attempt = async (at: string): Promise<readonly [status: number, text: string]> => {
      const [method, below, json] = operation;
      const headers = { "idempotency-key": "k1" };
      const query =
        below === "/events" && stolen.eventId !== undefined && next % 2 === 0 ? `?after=${stolen.eventId}` : "";
      const answer = await app.call(`${at}${below}${query}`, { as, method, headers, json: using(json, stolen) });
      for (const header of ["plat-events-lost", "plat-delivery-attempt", "link"])
        expect([operation, header, answer.headers.get(header)]).toEqual([operation, header, null]);
      return [answer.status, await answer.text()];
    };
    const [status, text] = await attempt(path);
    const told = `${operation[0]} ${operation[1]} as ${JSON.stringify(as)}: ${status} ${text}`;
    if (isLimited && status < 300)
      expect(
        SHOWS_NOTHING.some((nothing) => nothing.test(text)),
        told,
      ).toBe(true);
    else if (isLimited) expect([400, 403, 404, 409], told).toContain(status);
    else {
      expect([403, 404], told).toContain(status);
      // Existence does not leak.
      expect([status, text.replaceAll(path, "")], told).toEqual(
        await attempt(`${path}x`).then(([of, said]) => [of, said.replaceAll(`${path}x`, "")]),
      );
    }
  };
  return { attack, consumers: readers.map(({ name }) => name) };
}

export interface Adversary {
  attack(stolen: Stolen): Promise<void>;
  /** Names of the consumers that it may have. */
  readonly consumers: readonly string[];
}

/** Counts on over all schedules, so that every token is tried with every operation at many moments. */
let next = 0;

/** No body, no events, or a topic without counts. */
const SHOWS_NOTHING = [
  /^$/,
  /^\{"events":\[\],"next":null\}$/,
  /"storedEvents":null,"oldestEventAt":null,"newestEventAt":null,"lag":null\}$/,
];

function tokensOf(owner: Principal): { readonly as: Principal; readonly isLimited: boolean }[] {
  const tenant = "evil";
  const user = "eve@evil.example";
  const scopes = ["plat.pubsub_publish"];
  const own = ["plat.pubsub.own_tenant_topic=*"];
  const all = (...them: Principal[]) => them.map((as) => ({ as, isLimited: as.scopes === own }));
  return all(
    someClient({ tenant, scopes: [...scopes, `plat.pubsub.topic=${owner.clientName.slice(0, -1)}*`] }),
    someClient({ tenant, scopes: [] }),
    someClient({ tenant, scopes: own }),
    // People of the other tenant, or of none, at the owner's client.
    { ...owner, tenant, user, scopes },
    { ...owner, tenant, user, scopes, clientAuthenticated: false },
    { ...owner, tenant, user, scopes: own, clientAuthenticated: false },
    { ...owner, tenant: "", user, scopes: [] },
    { ...owner, tenant: "", org: "evilorg", user, scopes },
    { ...owner, tenant, scopes, clientAuthenticated: false },
  );
}

/** The body with the stolen value in its place. */
function using(json: object | undefined, { token, eventId }: Stolen): object | undefined {
  if (json === undefined || !("token" in json)) return json;
  const isRelease = Object.keys(json).length === 1 && eventId !== undefined && next % 3 === 0;
  return { ...json, ...(token !== undefined && { token }), ...(isRelease && { commitThrough: eventId }) };
}
