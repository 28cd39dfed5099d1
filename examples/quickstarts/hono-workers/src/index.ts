import { env } from "cloudflare:workers";
import { createPlinth, verifyWebhook, type Caller } from "@plinth/sdk";
import { honoAuth } from "@plinth/sdk/middleware";
import { Hono } from "hono";

const { PLINTH_URL, CLIENT_SECRET, WEBHOOK_SECRET } = env as unknown as Record<string, string>;
const plinth = createPlinth({
  url: PLINTH_URL!,
  credentials: { clientId: "demo.shop", clientSecret: CLIENT_SECRET! },
});

const app = new Hono<{ Variables: { caller: Caller } }>();
app.use("/api/*", honoAuth({ url: PLINTH_URL! }));

app.get("/api/me", (c) => {
  const { user, client, tenant } = c.get("caller");
  return c.json({ user, client, tenant });
});

app.post("/api/orders", async (c) => {
  const { tenant } = c.get("caller");
  await plinth.topic("demo.shop", "orderPlaced").publish({ payload: await c.req.json(), tenant });
  return c.json({ accepted: true }, 202);
});

app.post("/hooks/orders", async (c) => {
  const event = await verifyWebhook(c.req.raw.headers, await c.req.text(), WEBHOOK_SECRET!).catch(() => undefined);
  if (event === undefined) return c.text("The signature is wrong.", 401);
  console.log("pushed", event.payload);
  return c.body(null, 204);
});

export default app;
