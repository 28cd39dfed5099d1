import type { OutsideAnswer, OutsideRequest } from "./runtime/outside-world.ts";

/** A test sets the answers of the world outside here, and reads its requests (`outside-world.ts`). */
const CONTROL = "https://outside.test";

/** Sets the answer at the address with any query. Several answers come one after the other, and the last one stays. */
export async function answerAt(address: string, answer: OutsideAnswer | readonly OutsideAnswer[]): Promise<void> {
  await fetch(`${CONTROL}/answers`, { method: "POST", body: JSON.stringify({ address, answer }) });
}

export const answerJson = (address: string, value: unknown, more: OutsideAnswer = {}): Promise<void> =>
  answerAt(address, { body: JSON.stringify(value), headers: { "content-type": "application/json" }, ...more });

/** Returns the requests to the address since the last call. */
export async function requestsTo(address: string): Promise<OutsideRequest[]> {
  return (await fetch(`${CONTROL}/requests?address=${encodeURIComponent(address)}`)).json<OutsideRequest[]>();
}

/** Returns the number of held requests to the address. */
export async function heldAt(address: string): Promise<number> {
  return (await fetch(`${CONTROL}/held?address=${encodeURIComponent(address)}`)).json<number>();
}

/** Answers held requests at the address, the oldest first. */
export async function release(address: string, count = 1000): Promise<void> {
  await fetch(`${CONTROL}/release`, { method: "POST", body: JSON.stringify({ address, count }) });
}
