import { createPlinth } from "@plinth/sdk";

export const plinth = createPlinth({
  url: process.env["PLINTH_URL"] ?? "http://127.0.0.1:8787",
  credentials: { clientId: "demo.shop", clientSecret: process.env["DEMO_CLIENT_SECRET"] ?? "" },
});

export const orders = plinth.topic("demo.shop", "orderPlaced");
