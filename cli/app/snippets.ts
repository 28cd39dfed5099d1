import type { Framework, Kind } from "./framework.ts";
import { npmInstall, pipInstall, type Install } from "./install.ts";

/** Example code that runs unchanged, with the values that `init` wrote to `.env`. */
export interface Snippet {
  /** The packages that it imports. */
  readonly install: Install;
  readonly file: string;
  readonly code: string;
  readonly run: string;
  /** The page of the documentation to read next. */
  readonly page: string;
}

export interface Sources {
  /** The application's folder. */
  readonly folder: string;
  /** The name or folder from which npm installs the SDK. `python`: the same for pip. */
  readonly sdk: string;
  readonly python: string;
}

export function snippetFor(framework: Framework | undefined, kind: Kind, sources: Sources): Snippet {
  const id = framework?.id ?? "";
  if (kind === "browser" && id === "vite")
    return { ...BROWSER, install: npmInstall(sources.folder, ["oidc-client-ts"]) };
  if (kind === "browser") return { ...PAGE, install: npmInstall(sources.folder, ["oidc-client-ts", "vite"]) };
  if (id in PYTHON)
    return { ...PYTHON[id as keyof typeof PYTHON], install: pipInstall([sources.python]), page: "start/python" };
  const snippet = NODE[id as keyof typeof NODE] ?? NODE.node;
  const packages = [sources.sdk, ...(id === "hono" ? ["@hono/node-server"] : [])];
  return { ...snippet, install: npmInstall(sources.folder, packages) };
}

const BROWSER = {
  file: "main.js",
  code: `import { UserManager } from "oidc-client-ts";

const users = new UserManager({
  authority: \`\${import.meta.env.VITE_PLINTH_URL}/oauth2/v1\`,
  client_id: import.meta.env.VITE_PLINTH_CLIENT_ID,
  redirect_uri: \`\${location.origin}/callback\`,
  post_logout_redirect_uri: \`\${location.origin}/callback\`,
  scope: "openid profile email",
});
if (location.search.includes("state=")) {
  await users.signinCallback().catch((refused) => alert(refused.message));
  history.replaceState(null, "", "/");
}
const user = await users.getUser();
const button = document.createElement("button");
button.textContent = user ? \`Hello \${user.profile.email}. Sign out\` : "Sign in";
button.onclick = () => (user ? users.signoutRedirect() : users.signinRedirect());
document.body.append(button);
`,
  run: "npm run dev",
  page: "start/browser-app",
};

/** For a folder without a framework: Vite serves the page, and reads `.env`. */
const PAGE = {
  ...BROWSER,
  file: "index.html",
  code: `<!doctype html>
<body></body>
<script type="module">
${BROWSER.code}</script>
`,
  run: "npx vite",
};

const CONNECT = `const { PLINTH_URL: url, PLINTH_CLIENT_ID: clientId, PLINTH_CLIENT_SECRET: clientSecret } = process.env;
const plinth = createPlinth({ url, credentials: { clientId, clientSecret } });
`;

const HONO = `import { Hono } from "hono";
import { createPlinth } from "@plinth/sdk";
import { honoAuth } from "@plinth/sdk/middleware";
`;

const HONO_ROUTES = `const app = new Hono();
app.use("/api/*", honoAuth({ url })); // callers bring an access token of a person or a client
app.get("/api/me", (c) => c.json({ user: c.get("caller").user, tenant: c.get("caller").tenant }));
app.post("/api/hello", async (c) => {
  await plinth.topic(clientId, "hello").create();
  return c.json(await plinth.topic(clientId, "hello").publish({ payload: { by: c.get("caller").user } }));
});`;

const NODE = {
  node: {
    file: "plinth.mjs",
    code: `import { createPlinth } from "@plinth/sdk";

${CONNECT}
const topic = plinth.topic(clientId, "hello");
await topic.create();
await topic.publish({ payload: { hello: "world" } });
for await (const event of topic.consume()) console.log(event.json());
`,
    run: "node --env-file=.env plinth.mjs",
    page: "start/node",
  },
  express: {
    file: "plinth.mjs",
    code: `import express from "express";
import { createPlinth } from "@plinth/sdk";
import { expressAuth } from "@plinth/sdk/middleware";

${CONNECT}
const app = express();
app.use("/api", expressAuth({ url })); // callers bring an access token of a person or a client
app.get("/api/me", (request, response) => response.json({ user: request.caller.user, tenant: request.caller.tenant }));
app.post("/api/hello", async (request, response) => {
  await plinth.topic(clientId, "hello").create();
  response.json(await plinth.topic(clientId, "hello").publish({ payload: { by: request.caller.user } }));
});
app.listen(3000);
`,
    run: "node --env-file=.env plinth.mjs",
    page: "start/node",
  },
  fastify: {
    file: "plinth.mjs",
    code: `import Fastify from "fastify";
import { createPlinth } from "@plinth/sdk";
import { fastifyAuth } from "@plinth/sdk/middleware";

${CONNECT}
const app = Fastify();
app.addHook("preHandler", fastifyAuth({ url })); // callers bring an access token of a person or a client
app.get("/api/me", async (request) => ({ user: request.caller.user, tenant: request.caller.tenant }));
app.post("/api/hello", async (request) => {
  await plinth.topic(clientId, "hello").create();
  return plinth.topic(clientId, "hello").publish({ payload: { by: request.caller.user } });
});
await app.listen({ port: 3000 });
`,
    run: "node --env-file=.env plinth.mjs",
    page: "start/node",
  },
  hono: {
    file: "src/index.js",
    code: `import { serve } from "@hono/node-server";
${HONO}
${CONNECT}
${HONO_ROUTES}
serve({ fetch: app.fetch, port: 3000 });
`,
    run: "node --env-file=.env src/index.js",
    page: "start/hono-workers",
  },
  "hono-workers": {
    file: "src/index.js",
    code: `import { env } from "cloudflare:workers";
${HONO}
// wrangler reads .env on this machine; deployed, these are a variable and two secrets.
${CONNECT.replace("process.env", "env")}
${HONO_ROUTES}
export default app;
`,
    run: "npm run dev",
    page: "start/hono-workers",
  },
  nextjs: {
    file: "app/api/me/route.js",
    code: `import { createPlinth } from "@plinth/sdk";
import { withAuth } from "@plinth/sdk/middleware";

${CONNECT}
// Callers bring an access token of a person or a client.
export const GET = withAuth({ url }, (request, caller) => Response.json({ user: caller.user, tenant: caller.tenant }));

export const POST = withAuth({ url }, async (request, caller) => {
  await plinth.topic(clientId, "hello").create();
  return Response.json(await plinth.topic(clientId, "hello").publish({ payload: { by: caller.user } }));
});
`,
    run: "npm run dev",
    page: "start/nextjs",
  },
} as const;

const PYTHON_CONNECT = `client = os.environ["PLINTH_CLIENT_ID"]
plinth = Plinth(os.environ["PLINTH_URL"], client_id=client, client_secret=os.environ["PLINTH_CLIENT_SECRET"])
`;

const PYTHON = {
  python: {
    file: "app.py",
    code: `import os

from plinth import Plinth

${PYTHON_CONNECT}
topic = plinth.topic(client, "hello")
topic.create()
topic.publish({"hello": "world"})
for event in topic.consume():
    print(event.json())
`,
    run: "set -a; . ./.env; set +a; python app.py",
  },
  fastapi: {
    file: "app.py",
    code: `import os

from fastapi import FastAPI, Header, HTTPException
from plinth import Plinth, TokenVerifier, UnauthorizedError

${PYTHON_CONNECT}verify = TokenVerifier(os.environ["PLINTH_URL"])
app = FastAPI()


@app.get("/api/me")
def me(authorization: str | None = Header(default=None)):
    try:
        caller = verify(authorization)
    except UnauthorizedError as refused:
        raise HTTPException(401, str(refused))
    return {"user": caller.user, "tenant": caller.tenant}
`,
    run: "set -a; . ./.env; set +a; fastapi dev app.py",
  },
  flask: {
    file: "app.py",
    code: `import os

from flask import Flask, abort, request
from plinth import Plinth, TokenVerifier, UnauthorizedError

${PYTHON_CONNECT}verify = TokenVerifier(os.environ["PLINTH_URL"])
app = Flask(__name__)


@app.get("/api/me")
def me():
    try:
        caller = verify(request.headers.get("authorization"))
    except UnauthorizedError as refused:
        abort(401, str(refused))
    return {"user": caller.user, "tenant": caller.tenant}
`,
    run: "set -a; . ./.env; set +a; flask run",
  },
} as const;
