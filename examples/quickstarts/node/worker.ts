import { orders } from "./plinth.ts";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

await orders.create();
console.log("waiting for orders");
await orders.process(
  async (event) => {
    const { order } = event.json<{ order: number }>();
    console.log(`order ${order}`);
  },
  { signal: stop.signal, onError: (error, { id }) => console.error(`event ${id} comes again:`, error) },
);
console.log("stopped");
