import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Program } from "../../../examples/walk/program.ts";
import { AGENT_NAME, PATIENCE_MS, startDocument, startNotes } from "../support/parties/agent-servers.ts";
import { makeAgent, newClient, said, transportOf, type Agent } from "../support/parties/mcp-agent.ts";
import { ADA, makeClient } from "../support/world.ts";
import { fieldsOf, isNotFramed, isShown, landed, postForm, signIn, type Stage } from "./stage.ts";

/**
 * An agent that nobody registered, built on the official SDK: a document describes it, and a person decides about it.
 */
export function agentSuite(stage: () => Stage): void {
  let notes: Program;
  let document: Awaited<ReturnType<typeof startDocument>>;
  beforeAll(async () => {
    notes = await startNotes(stage().world);
    document = await startDocument("http://localhost/landed");
  }, PATIENCE_MS);
  afterAll(async () => {
    await notes?.stop();
    document?.stop();
  });

  /** The SDK has found its way from the 401 to the page, to which it sends the person. */
  async function sentOn(): Promise<Agent> {
    const agent = makeAgent(`${stage().app.origin}/landed`, document.url);
    const refused = newClient().connect(transportOf(stage().world, agent));
    await expect(refused).rejects.toThrow(UnauthorizedError);
    return agent;
  }
  const asked = (page: Page): Promise<void> => isShown(page, "Allow access?");
  /** A browser in which the person is signed in, at the question. */
  async function atQuestion({ link }: Agent): Promise<Page> {
    const page = await stage().open();
    await page.goto(link!.href);
    await signIn(page, ADA);
    await asked(page);
    return page;
  }
  /** The access of the agent, on the account page. */
  async function accessOf(page: Page) {
    await page.goto(`${stage().world.base}/account`);
    return page.getByRole("listitem").filter({ hasText: AGENT_NAME });
  }

  describe("an agent that nobody registered", () => {
    // shows: oauth/unregistered-clients/official-client
    // shows: oauth/unregistered-clients/asked
    test("is allowed by a person who reads what it is, calls a tool, and is asked about again", async () => {
      const { world, app } = stage();
      const agent = await sentOn();
      const page = await atQuestion(agent);
      const { host } = new URL(document.url);
      const shown = (await page.getByRole("main").innerText()).replaceAll(/\s+/g, " ");
      for (const words of [
        `${AGENT_NAME} (${host}) asks for access to your account`,
        "Nobody here has checked what it says about itself",
        `It is described by ${host}`,
        `Your browser goes back to ${new URL(app.origin).host}`,
        "continue only if you have just started it yourself",
        ADA.email,
        "Acme & Söhne",
        "read your notes",
        "change your notes",
      ])
        expect(shown).toContain(words);
      await page.getByRole("button", { name: "Allow", exact: true }).click();
      const { query } = await landed(page);
      expect([query.get("iss"), query.get("state")]).toEqual([world.issuer, "state-1"]);
      await transportOf(world, agent).finishAuth(query.get("code") ?? "");
      const client = newClient();
      await client.connect(transportOf(world, agent));
      expect(await said(client, "add_note", { note: "eggs" })).toBe(`Kept for ${ADA.email}.`);
      expect(await said(client, "list_notes")).toContain("eggs");

      // Nothing that was allowed once answers the next question.
      await page.goto((await sentOn()).link!.href);
      await asked(page);
      const access = await accessOf(page);
      await access.getByRole("button").click();
      await page.getByRole("status").waitFor();
      expect(await access.count()).toBe(0);
      await client.close();
      const again = newClient().connect(transportOf(world, agent));
      await expect(again).rejects.toThrow();
    });

    // shows: oauth/unregistered-clients/asked
    test("gets nothing if the person says no, and none of it without a page", async () => {
      const agent = await sentOn();
      const page = await atQuestion(agent);
      await page.getByRole("button", { name: "Deny" }).click();
      const { query } = await landed(page);
      expect([query.get("error"), query.get("iss"), query.has("code")]).toEqual([
        "access_denied",
        stage().world.issuer,
        false,
      ]);
      const silent = new URL(agent.link!);
      silent.searchParams.set("prompt", "none");
      await page.goto(silent.href);
      expect((await landed(page)).query.get("error")).toBe("consent_required");
      expect(await (await accessOf(page)).count()).toBe(0);
      await expect(newClient().connect(transportOf(stage().world, agent))).rejects.toThrow(UnauthorizedError);
    });

    // shows: oauth/consent/forged
    test("is allowed by no frame, by no form of its own site, and by no form for another application", async () => {
      const agent = await sentOn();
      const page = await atQuestion(agent);
      const fields = await fieldsOf(page);
      await isNotFramed(stage(), page, agent.link!.href);
      const consentOf = (form: Record<string, string>): string =>
        `${stage().world.issuer}/consent?${new URLSearchParams({ ...form, decision: "allow" }).toString()}`;
      const forge = async (form: Record<string, string>): Promise<void> => {
        await page.goto(`${stage().app.origin}/nothing`);
        await postForm(page, consentOf(form));
        await isShown(page, "This request cannot be completed");
      };
      await forge(fields);
      await forge({});
      expect(await (await accessOf(page)).count()).toBe(0);

      // Even on the platform's own page: what was sealed for the question about a friendly application.
      const registration = { confidential: false, thirdParty: true, redirectUris: ["http://localhost/landed"] };
      const friendly = await makeClient(stage().world, "friendly", registration);
      await page.goto(stage().link({ client_id: friendly.id, scope: "openid" }));
      await asked(page);
      await postForm(page, consentOf({ ...(await fieldsOf(page)), request: fields["request"] ?? "" }));
      await page.getByText(AGENT_NAME).first().waitFor();
      await asked(page);
      expect(await (await accessOf(page)).count()).toBe(0);
    });
  });
}
