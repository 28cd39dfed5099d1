import { expect, it } from "vitest";
import type { Deps } from "../../src/deps.ts";
import { runSchedule } from "../../src/jobs/schedule.ts";

it("each sweep runs, whatever became of the others; those that may have most to do last", async () => {
  const ran: string[] = [];
  const failing = (name: string) => ({
    sweep: () => {
      ran.push(name);
      return Promise.reject(new Error("injected"));
    },
  });
  const errors: unknown[] = [];
  const log = { info: () => {}, warn: () => {}, error: (_: string, fields: object) => errors.push(fields) };
  const oauth = { ...failing("oauth"), rotateKeys: failing("keys").sweep };
  const events = {
    ...failing("events"),
    wakeSubscriptions: failing("subscriptions").sweep,
    reseal: failing("seals").sweep,
  };
  const outbox = { drain: failing("outbox").sweep };
  const auditCopies = { run: failing("copies").sweep };
  const rooms = { events, media: failing("media"), audit: failing("audit"), auditCopies, oauth, outbox, log };
  await runSchedule(rooms as unknown as Deps, 0);
  expect(ran.toSorted()).toEqual([
    "audit",
    "copies",
    "events",
    "keys",
    "media",
    "oauth",
    "outbox",
    "seals",
    "subscriptions",
  ]);
  expect(ran.slice(-2)).toEqual(["events", "media"]);
  expect(errors).toHaveLength(9);
});
