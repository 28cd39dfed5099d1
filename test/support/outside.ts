import type { OutsideAnswer, OutsideRequest } from "./outside-world.ts";

/** What a test has the world outside say, and what it asks of it afterwards (`outside-world.ts`). */
const CONTROL = "https://outside.test";

/** From now on this is answered at the address (any query). */
export async function answerAt(address: string, answer: OutsideAnswer): Promise<void> {
  await fetch(`${CONTROL}/answers`, { method: "POST", body: JSON.stringify({ address, answer }) });
}

export const answerJson = (address: string, value: unknown, more: OutsideAnswer = {}): Promise<void> =>
  answerAt(address, { body: JSON.stringify(value), headers: { "content-type": "application/json" }, ...more });

/** The requests that came to the address since this was last asked. */
export async function requestsTo(address: string): Promise<OutsideRequest[]> {
  return (await fetch(`${CONTROL}/requests?address=${encodeURIComponent(address)}`)).json<OutsideRequest[]>();
}
