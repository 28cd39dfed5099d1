import { describe, expect, test } from "vitest";
import { failureOf } from "./answer.ts";
import { requestOf, settled, type Stage } from "./stage.ts";
import { secrets } from "./wire.ts";

/** Last of all: what the platform printed and kept of everything that was asked before. */
export function logsSuite(stage: () => Stage): void {
  describe("what is written down", () => {
    test("RFC 9700 4.3, RFC 6749 10.3, RFC 6749 10.4, RFC 6749 10.5: no code, token, secret, password or cookie, in what was printed and in the audit log", async () => {
      const texts = [await settled(() => stage().world.output()), ...(await auditOf(stage()))];
      expect(texts.join("\n")).toMatch(/"event":"token issued"/);
      expect(texts.length).toBeGreaterThan(100);
      expect(secrets.size).toBeGreaterThan(100);
      const found = [...secrets].flatMap((secret) => {
        // A text of one character says nothing, wherever it stands. Of a token the signature alone would do.
        if (new Set(secret).size < 5) return [];
        const signature = secret.split(".")[2] ?? "";
        const spellings = [
          secret,
          encodeURIComponent(secret),
          JSON.stringify(secret).slice(1, -1),
          btoa(encodeURI(secret)),
        ];
        if (signature.length > 40) spellings.push(signature);
        return texts.filter((text) => spellings.some((one) => text.includes(one))).map(() => secret);
      });
      expect(found).toEqual([]);
    });

    test("RFC 6749 10.14: a line stays a line, whatever was sent (log injection)", async () => {
      const { ask, ada, world } = stage();
      const line = '\r\n{"level":"error","event":"injected"}\u2028\u001b[2J\u202e';
      for (const path of [`/%0a%0d`, `/callback/${encodeURIComponent(line)}?state=x`]) await ask(path);
      const grant = { grant_type: "client_credentials" };
      expect(failureOf(await ask("/token", { basic: { id: line, secret: "x" }, form: grant }))).toBe(
        "401 invalid_client",
      );
      await ask("/token", { form: { ...grant, client_id: line, scope: line, [line]: line } });
      await ask("/token", {
        form: [
          ["a\nb", "x"],
          ["a\nb", "x"],
        ],
      });
      await ada.authorize(requestOf({ id: line, secret: "" }, { redirect_uri: line }));
      await ada.authorize({ ...requestOf(stage().web), plat_id_provider: line, scope: line });
      const lines = (await settled(() => world.output())).split("\n").filter((text) => text.startsWith("{"));
      expect(lines.length).toBeGreaterThan(100);
      const events = lines.map((text) => (JSON.parse(text) as { event: string }).event);
      expect(events).not.toContain("injected");
      expect(events).not.toContain("request failed");
      expect(lines.filter((text) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text))).toEqual([]);
    });
  });
}

/** Every row of the audit log. */
async function auditOf({ world }: Stage): Promise<string[]> {
  const rows: string[] = [];
  for (let path = "audit?pageSize=1000"; path !== "";) {
    const answer = await world.operate("GET", path);
    const page: unknown = await answer.json();
    rows.push(...(page as object[]).map((row) => JSON.stringify(row)));
    const [, next = ""] = /<[^>]*\/admin\/v1\/([^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "") ?? [];
    path = next;
  }
  return rows;
}
