import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import type { Caller, Plinth } from "../../../packages/sdk/src/index.ts";
import { expressAuth, fastifyAuth, honoAuth, withAuth } from "../../../packages/sdk/src/middleware.ts";

/**
 * The SDK's middleware in the frameworks themselves: Express and Fastify listen, Hono answers by its `fetch`. Each has
 * an open route and two below `/api`, of which one needs a scope. Next.js runs in test/nightly/quickstarts.test.ts.
 */
declare module "express-serve-static-core" {
  interface Request {
    caller?: Caller;
  }
}
declare module "fastify" {
  interface FastifyRequest {
    caller?: Caller;
  }
}

type Ask = (path: string, authorization?: string) => Promise<Response>;
interface App {
  readonly ask: Ask;
  end(): Promise<void>;
}
const SCOPE = "plat.media_view";
const NOBODYS_SCOPE = "plat.nothing";

const APPS: Readonly<Record<string, (url: string) => Promise<App>>> = {
  async Express(url) {
    const app = express();
    app.use("/api", expressAuth({ url, scope: SCOPE }));
    app.get("/open", (_, response) => void response.send("open"));
    app.get("/api/me", (request, response) => void response.json(request.caller!.client));
    app.get("/api/never", expressAuth({ url, scope: NOBODYS_SCOPE }), () => expect.unreachable());
    return listening(createServer(app));
  },
  async Fastify(url) {
    const app = Fastify();
    app.get("/open", async () => "open");
    await app.register(
      async (api) => {
        api.decorateRequest("caller");
        api.addHook("onRequest", fastifyAuth({ url, scope: SCOPE }));
        api.get("/me", (request, reply) => void reply.send(JSON.stringify(request.caller!.client)));
        api.get("/never", { preHandler: fastifyAuth({ url, scope: NOBODYS_SCOPE }) }, async () => expect.unreachable());
      },
      { prefix: "/api" },
    );
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    return { ask: asking(origin), end: () => app.close() };
  },
  async Hono(url) {
    const app = new Hono<{ Variables: { caller: Caller } }>();
    app.use("/api/*", honoAuth({ url, scope: SCOPE }));
    app.get("/open", (c) => c.text("open"));
    app.get("/api/me", (c) => c.json(c.get("caller").client));
    app.get("/api/never", honoAuth({ url, scope: NOBODYS_SCOPE }), () => expect.unreachable());
    return {
      ask: async (path, authorization) => app.request(path, { headers: headersOf(authorization) }),
      end: async () => undefined,
    };
  },
  async "a handler of Request and Response"(url) {
    const never = withAuth({ url, scope: NOBODYS_SCOPE }, () => expect.unreachable());
    const me = withAuth({ url, scope: SCOPE }, (_, caller) => Response.json(caller.client));
    return {
      ask: async (path, authorization) => {
        const request = new Request(`http://app.example${path}`, { headers: headersOf(authorization) });
        if (path === "/open") return new Response("open");
        return path === "/api/me" ? me(request) : never(request);
      },
      end: async () => undefined,
    };
  },
};

export function frameworkSuite(plinth: () => Plinth, url: () => string, clientId: () => string): void {
  describe.each(Object.entries(APPS))("the middleware in %s", (_, start) => {
    test("lets a good token pass with its caller, and answers for all others", async () => {
      const { ask, end } = await start(url());
      try {
        const authorization = `Bearer ${await plinth().token()}`;
        expect(await (await ask("/open")).text()).toBe("open");
        const me = await ask("/api/me", authorization);
        expect([me.status, await me.json()]).toEqual([200, clientId()]);

        const without = await ask("/api/me");
        expect([without.status, without.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
        expect(without.headers.get("content-type")).toMatch(/^application\/json/);
        expect(await without.json()).toMatchObject({ status: 401, type: "insufficient_credentials" });

        const forged = await ask("/api/me", `${authorization.slice(0, -4)}AAAA`);
        expect([forged.status, forged.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);

        const never = await ask("/api/never", authorization);
        expect([never.status, never.headers.get("www-authenticate")]).toEqual([
          403,
          `Bearer error="insufficient_scope", scope="${NOBODYS_SCOPE}"`,
        ]);
        expect(await never.json()).toMatchObject({ type: "insufficient_permissions" });
      } finally {
        await end();
      }
    });

    test("says that it is not the caller's fault when the keys cannot be fetched", async () => {
      const { ask, end } = await start("http://127.0.0.1:9");
      try {
        const answer = await ask("/api/me", `Bearer ${await plinth().token()}`);
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      } finally {
        await end();
      }
    });
  });
}

const headersOf = (authorization?: string): Record<string, string> =>
  authorization === undefined ? {} : { authorization };

const asking =
  (origin: string): Ask =>
  (path, authorization) =>
    fetch(`${origin}${path}`, { headers: headersOf(authorization) });

async function listening(server: Server): Promise<App> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const end = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { ask: asking(`http://127.0.0.1:${port}`), end };
}
