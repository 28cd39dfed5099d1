import type { OutsideAnswer, OutsideRequest } from "./runtime/outside-world.ts";

/** What a test has the world outside say, and what it asks of it afterwards (`outside-world.ts`). */
const CONTROL = "https://outside.test";

/** From now on this is answered at the address (any query): of several one after the other, the last one for ever. */
export async function answerAt(address: string, answer: OutsideAnswer | readonly OutsideAnswer[]): Promise<void> {
  await fetch(`${CONTROL}/answers`, { method: "POST", body: JSON.stringify({ address, answer }) });
}

export const answerJson = (address: string, value: unknown, more: OutsideAnswer = {}): Promise<void> =>
  answerAt(address, { body: JSON.stringify(value), headers: { "content-type": "application/json" }, ...more });

/** The requests that came to the address since this was last asked. */
export async function requestsTo(address: string): Promise<OutsideRequest[]> {
  return (await fetch(`${CONTROL}/requests?address=${encodeURIComponent(address)}`)).json<OutsideRequest[]>();
}

/** How many requests to the address are held. */
export async function heldAt(address: string): Promise<number> {
  return (await fetch(`${CONTROL}/held?address=${encodeURIComponent(address)}`)).json<number>();
}

/** Lets requests go that are held at the address, the first one first, to their answers. */
export async function release(address: string, count = 1000): Promise<void> {
  await fetch(`${CONTROL}/release`, { method: "POST", body: JSON.stringify({ address, count }) });
}
