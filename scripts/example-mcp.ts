import { NOTES, notesService } from "../examples/mcp-server/described.ts";
import { startProgram, type Program } from "../examples/walk/program.ts";
import { basic } from "../examples/tour/people.ts";
import { DEMO } from "./lib/local/demo.ts";
import type { Settings } from "./lib/local/settings.ts";
import { readPort } from "./lib/local/settings.ts";
import { requireFreePort } from "./lib/local/state.ts";
import { UserError } from "./lib/user-error.ts";

/**
 * `npm run example -- mcp`: registers examples/mcp-server at a running platform (PORT), and serves it at MCP_PORT
 * (8791) until Ctrl-C. Then it removes the service and the role again, except with `keeps`.
 */
export async function exampleMcp(
  { host, port, config }: Settings,
  started: Program[],
  stopped: Promise<void>,
  keeps: boolean,
): Promise<void> {
  const base = `${config.publicUrl || `http://${host}:${port}`}${config.pathPrefix}`;
  const serverPort = process.env["MCP_PORT"] ? readPort(process.env["MCP_PORT"]) : 8791;
  await requireFreePort(host, serverPort, `MCP_PORT=${serverPort + 1} npm run example -- mcp`);
  const ask = await operator(base, config);
  const [service, role] = [`services/${NOTES.service}`, `roles/${NOTES.role}`];
  const member = `tenants/${DEMO.tenant}/members/${DEMO.user}`;
  await ask("PUT", service, notesService(DEMO.tenant, `http://${host}:${serverPort}`));
  await ask("PUT", role, { scopes: NOTES.scopes });
  await ask("PUT", member, { roles: [DEMO.role, NOTES.role] });
  started.push(
    await startProgram("examples/mcp-server/main.ts", {
      env: { PATH: process.env["PATH"], PLATFORM_URL: base, MCP_PORT: String(serverPort) },
      showLog: true,
      patienceMs: 30_000,
    }),
  );
  console.log(`
Point an agent at ${base}${NOTES.proxyPath}
It opens the browser: sign in as ${DEMO.user} (DEMO_USER_PASSWORD in .dev.vars) and allow what it asks.
Without an agent, see what it sees:

  curl -si -X POST ${base}${NOTES.proxyPath} | grep -i www-authenticate
  curl -s ${base}/.well-known/oauth-protected-resource${NOTES.proxyPath}

An agent without a document at an https address has to register itself: the platform needs UNREGISTERED_CLIENTS=registration
for that, as one that this example starts has. Stop: Ctrl-C
`);
  console.log(`ready ${base}${NOTES.proxyPath}`);
  const isStopped = await Promise.race([
    stopped.then(() => true),
    ...started.map(async ({ ended }) => void (await ended)),
  ]);
  if (isStopped !== true) throw new UserError("The platform or the MCP server has ended.");
  if (keeps) return console.log(`\n${service} and ${role} are left.`);
  await ask("PUT", member, { roles: [DEMO.role] });
  await ask("DELETE", role);
  await ask("DELETE", service);
  console.log(`\n${service} and ${role} are removed.`);
}

async function operator(base: string, { platform, operatorSecret }: Settings["config"]) {
  const answer = await fetch(`${base}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: basic({ id: `${platform}.operator`, secret: operatorSecret }) },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  if (!answer.ok) throw new UserError(`The operator's secret is not that of the platform at ${base}.`);
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return async (method: "PUT" | "DELETE", path: string, body?: object): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${base}/admin/v1/${path}`, init);
    if (!response.ok) throw new UserError(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
}
