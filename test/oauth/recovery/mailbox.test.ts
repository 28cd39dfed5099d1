import { describe, expect, it } from "vitest";
import { isolate } from "../../support/isolate.ts";

/** The mails of a local platform, as its mailbox lists them. */
const MAILS = [
  {
    to: "ada@acme.example",
    subject: "<script>",
    sentAt: "2026-01-01",
    text: "Hello\n\nhttps://plinth.test/reset?token=a",
  },
];
const MAILBOX = { fetch: async () => Response.json(MAILS) } as unknown as Fetcher;

describe("/dev/mail", () => {
  it("shows the mails of a local platform, and nothing of them runs", async () => {
    const page = await isolate({ MAILBOX, ALLOW_LOOPBACK: "true" }).fetch("/dev/mail");
    expect(page.status).toBe(200);
    const text = await page.text();
    for (const part of ["ada@acme.example", "&lt;script&gt;", 'href="https://plinth.test/reset?token=a"'])
      expect(text).toContain(part);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  it("is nowhere else, even where there is such a binding", async () => {
    expect((await isolate({ MAILBOX, ALLOW_LOOPBACK: "false" }).fetch("/dev/mail")).status).toBe(404);
    expect((await isolate({ ALLOW_LOOPBACK: "true" }).fetch("/dev/mail")).status).toBe(404);
  });
});
