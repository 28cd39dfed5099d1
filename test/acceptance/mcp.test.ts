import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NOTES, notesService } from "../../examples/mcp-server/described.ts";
import type { Program } from "../../examples/walk/program.ts";
import type { CookieBrowser } from "./support/cookie-browser.ts";
import { PATIENCE_MS, startDocument, startNotes } from "./support/parties/agent-servers.ts";
import { makeAgent, newClient, said, transportOf, type Agent } from "./support/parties/mcp-agent.ts";
import { CALLBACK, newBrowser } from "./support/visit.ts";
import { useSharedWorld } from "./support/use-world.ts";
import { ADA, TENANT } from "./support/world.ts";

/** The official client for the Model Context Protocol, unmodified, before examples/mcp-server behind the gateway. */
const world = useSharedWorld("based");

let notes: Program;
let document: Awaited<ReturnType<typeof startDocument>>;
beforeAll(async () => {
  notes = await startNotes(world());
  document = await startDocument(CALLBACK);
}, PATIENCE_MS);
afterAll(async () => {
  await notes?.stop();
  document?.stop();
});

/** Ada signs in at the pages and allows what they show; the code that the agent gets. */
async function decide(link: URL, browser: CookieBrowser, decision = "allow"): Promise<URLSearchParams> {
  let shown = await browser.open(link);
  if (shown.text.includes('name="password"'))
    shown = await browser.submit(shown, { email: ADA.email, password: ADA.password });
  expect(shown.text).toContain("Nobody here has checked");
  return (await browser.submit(shown, { decision })).url.searchParams;
}

/** The whole way; a connected client. */
async function connect(agent: Agent): Promise<Client> {
  const first = transportOf(world(), agent);
  await expect(newClient().connect(first)).rejects.toThrow(UnauthorizedError);
  const answer = await decide(agent.link!, newBrowser());
  expect([answer.get("iss"), answer.get("state")]).toEqual([world().issuer, "state-1"]);
  await first.finishAuth(answer.get("code") ?? "");
  const client = newClient();
  await client.connect(transportOf(world(), agent));
  return client;
}
describe("The official client", () => {
  // shows: oauth/unregistered-clients/official-client
  test.each([
    ["that registers itself", () => undefined],
    ["with a document", () => document.url],
  ])("%s signs a person in, calls tools, and refreshes", async (_, clientId) => {
    const agent = makeAgent(CALLBACK, clientId());
    const client = await connect(agent);
    expect(agent.link!.searchParams.get("resource")).toBe(`${world().base}${NOTES.proxyPath}`);
    expect(agent.link!.searchParams.get("scope")).toBe(NOTES.scopes.join(" "));
    expect(await said(client, "add_note", { note: "milk" })).toBe(`Kept for ${ADA.email}.`);
    expect(await said(client, "list_notes")).toContain("milk");
    const before = agent.made["tokens"] as { access_token: string; refresh_token: string };
    expect(decodeJwt(before.access_token)).toMatchObject({ aud: `${world().base}${NOTES.proxyPath}`, tenant: TENANT });
    // Refused, so the client refreshes by itself and goes on.
    agent.made["tokens"] = { ...before, access_token: "expired" };
    const again = newClient();
    await again.connect(transportOf(world(), agent));
    expect(await said(again, "list_notes")).toContain("milk");
    expect((agent.made["tokens"] as typeof before).refresh_token).not.toBe(before.refresh_token);
    await Promise.all([client.close(), again.close()]);
  });

  test("learns that the person denied, with the issuer", async () => {
    const agent = makeAgent(CALLBACK, document.url);
    await expect(newClient().connect(transportOf(world(), agent))).rejects.toThrow(UnauthorizedError);
    const answer = await decide(agent.link!, newBrowser(), "deny");
    expect([answer.get("error"), answer.get("iss")]).toEqual(["access_denied", world().issuer]);
  });

  test("whose token is for another service is asked to sign in again", async () => {
    await world().put("services/other", {
      ...notesService(TENANT, "https://other.example"),
      proxyPath: "/other/v1",
      scopes: ["other.read"],
      scopeDescriptions: {},
    });
    const agent = makeAgent(CALLBACK, document.url);
    const client = await connect(agent);
    const { access_token: token } = agent.made["tokens"] as { access_token: string };
    const answer = await fetch(`${world().base}/other/v1`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect(answer.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource/other/v1");
    await client.close();
  });
});
