import { env } from "cloudflare:workers";
import { createPlinth, PlinthError, verifyWebhook, WebhookError, type Caller } from "@plinth/sdk";
import { honoAuth } from "@plinth/sdk/middleware";
import { Hono } from "hono";

const { PLINTH_URL, CLIENT_SECRET, WEBHOOK_SECRET } = env as unknown as Record<string, string>;
const plinth = createPlinth({
  url: PLINTH_URL!,
  credentials: { clientId: "demo.shop", clientSecret: CLIENT_SECRET! },
});
const orders = plinth.topic("demo.shop", "orderPlaced");
let hasTopic = false;

/** A wrong push. Anything else, such as a secret that is missing, is a fault of this Worker. */
const refused = (error: unknown): undefined => {
  if (!(error instanceof WebhookError)) throw error;
};

const app = new Hono<{ Variables: { caller: Caller } }>();
app.use("/api/*", honoAuth({ url: PLINTH_URL! }));

app.get("/api/me", (c) => {
  const { user, client, tenant } = c.get("caller");
  return c.json({ user, client, tenant });
});

app.post("/api/orders", async (c) => {
  const { tenant } = c.get("caller");
  if (!hasTopic) await orders.create(); // does nothing if the topic exists
  hasTopic = true;
  await orders.publish({ payload: await c.req.json(), tenant });
  return c.json({ accepted: true }, 202);
});

app.post("/hooks/orders", async (c) => {
  const event = await verifyWebhook(c.req.raw.headers, await c.req.text(), WEBHOOK_SECRET!).catch(refused);
  if (event === undefined) return c.text("The signature is wrong.", 401);
  console.log("pushed", event.payload);
  return c.body(null, 204);
});

app.onError((error, c) => {
  console.error(error); // `npm run dev` shows it; deployed, the log of the Worker
  const message = error instanceof PlinthError ? `The platform refused: ${error.message}` : "Something failed here.";
  return c.json({ message }, 500);
});

export default app;
