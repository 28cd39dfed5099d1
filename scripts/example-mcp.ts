import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NOTES, notesService } from "../examples/mcp-server/described.ts";
import { startProgram, type Program } from "../examples/walk/program.ts";
import { basic } from "../examples/tour/people.ts";
import { DEMO } from "./lib/local/demo.ts";
import type { Settings } from "./lib/local/settings.ts";
import { readPort } from "./lib/local/settings.ts";
import { requireFreePort } from "./lib/local/state.ts";
import { UserError } from "./lib/user-error.ts";

const SERVICE = `services/${NOTES.service}`;
const ROLE = `roles/${NOTES.role}`;
const MEMBER = `tenants/${DEMO.tenant}/members/${DEMO.user}`;

/**
 * `npm run example -- mcp`: registers examples/mcp-server at a running platform (PORT), and serves it at MCP_PORT
 * (8791) until Ctrl-C. Then it removes the service and the role again, except with `keeps`.
 *
 * It takes over nothing: if the platform has such a service or role that no earlier run has noted (STATE_DIR,
 * `mcp-server`), it ends at once. A run that was killed has left its note, so the next one removes what that one made.
 */
export async function exampleMcp(
  { host, port, config, stateDir }: Settings,
  started: Program[],
  stopped: Promise<void>,
  keeps: boolean,
): Promise<void> {
  const base = `${config.publicUrl || `http://${host}:${port}`}${config.pathPrefix}`;
  const serverPort = process.env["MCP_PORT"] ? readPort(process.env["MCP_PORT"]) : 8791;
  await requireFreePort(host, serverPort, `MCP_PORT=${serverPort + 1} npm run example -- mcp`);
  const ask = await operator(base, config);
  const note = noteIn(join(stateDir, "mcp-server"), base);
  const foreign: string[] = [];
  for (const path of note.isThere() ? [] : [SERVICE, ROLE])
    if ((await ask("GET", path)) !== undefined) foreign.push(path);
  if (foreign.length > 0)
    throw new UserError(
      `The platform has ${foreign.join(" and ")}, which the example did not make. It would change and remove them, so it did nothing.
Give it a platform of its own: PORT=9411 STATE_DIR=/tmp/example npm run example -- mcp`,
    );
  note.write();
  const remove = async (): Promise<void> => {
    const roles = await rolesOf(ask);
    if (roles.includes(NOTES.role)) await ask("PUT", MEMBER, { roles: roles.filter((role) => role !== NOTES.role) });
    await ask("DELETE", ROLE);
    await ask("DELETE", SERVICE);
    note.remove();
    console.log(`\n${SERVICE} and ${ROLE} are removed.`);
  };
  try {
    await ask("PUT", SERVICE, notesService(DEMO.tenant, `http://${host}:${serverPort}`));
    await ask("PUT", ROLE, { scopes: NOTES.scopes });
    await ask("PUT", MEMBER, { roles: [...new Set([...(await rolesOf(ask)), NOTES.role])] });
    await serve(base, serverPort, started, stopped);
  } catch (error) {
    // The reason is reported, even if the removal fails too. The note is left then.
    if (!keeps)
      await remove().catch(() => console.error(`${SERVICE} and ${ROLE} are left; the next run removes them.`));
    throw error;
  }
  if (keeps) return console.log(`\n${SERVICE} and ${ROLE} are left.`);
  await remove();
}

async function serve(base: string, serverPort: number, started: Program[], stopped: Promise<void>): Promise<void> {
  started.push(
    await startProgram("examples/mcp-server/main.ts", {
      env: { PATH: process.env["PATH"], PLATFORM_URL: base, MCP_PORT: String(serverPort) },
      showLog: true,
      ownGroup: true,
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
}

/** What an earlier run made at this platform. */
function noteIn(directory: string, base: string) {
  const path = join(directory, "made.json");
  return {
    isThere: (): boolean =>
      existsSync(path) && (JSON.parse(readFileSync(path, "utf8")) as { base?: string }).base === base,
    write(): void {
      mkdirSync(directory, { recursive: true });
      writeFileSync(path, JSON.stringify({ base, made: [SERVICE, ROLE] }));
    },
    remove: (): void => rmSync(directory, { recursive: true, force: true }),
  };
}

type Asking = Awaited<ReturnType<typeof operator>>;

/** The roles of the demo user, who may have more than those of the demo. */
const rolesOf = async (ask: Asking): Promise<readonly string[]> =>
  ((await ask("GET", MEMBER)) as { roles: string[] } | undefined)?.roles ?? [DEMO.role];

async function operator(base: string, { platform, operatorSecret }: Settings["config"]) {
  const answer = await fetch(`${base}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: basic({ id: `${platform}.operator`, secret: operatorSecret }) },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  if (!answer.ok) throw new UserError(`The operator's secret is not that of the platform at ${base}.`);
  const { access_token: token } = (await answer.json()) as { access_token: string };
  /** The record in the answer; undefined if there is none, or none any more. */
  return async (method: "GET" | "PUT" | "DELETE", path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${base}/admin/v1/${path}`, init);
    const text = await response.text();
    if (response.status === 404 && method !== "PUT") return undefined;
    if (!response.ok) throw new UserError(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
}
