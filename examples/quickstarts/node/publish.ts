import { orders } from "./plinth.ts";

await orders.create(); // does nothing if the topic exists
await orders.publish({ payload: { order: 4711, total: "19.90" } });
console.log("published");
