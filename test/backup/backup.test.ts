import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { backupId } from "../../src/backup/bucket/manifest-store.ts";
import { TABLES } from "../../src/backup/model/tables.ts";
import { makeOwned } from "../http/rights-samples.ts";
import { makeWorld } from "../http/rights-world.ts";
import { makeProvider } from "../support/scripted-provider.ts";
import { put, unique } from "../support/platform.ts";
import { COPY, deployment, destroy, everyRow, keysOf, run } from "./machine.ts";

const newId = () => backupId(Date.now(), crypto.randomUUID());

/** Rows of which the story makes none. */
const MORE = [
  `INSERT INTO outbox (id, event_type, tenant, snapshot, created_at) VALUES ('o1', 'made', 't', '{}', 1)`,
  `INSERT INTO audit_copy (number, name, first_seq, last_seq, rows, previous, head, planned_at) VALUES (1, 'c', 1, 1, 1, '', 'h', 1)`,
  `INSERT INTO consent (email, client, org, tenant, scopes, given_at)
    SELECT user.email, client.id, '', client.tenant, '[]', 1 FROM user, client LIMIT 1`,
  `INSERT INTO variant (file_id, nonce, type, size, state, created_at) SELECT id, 'n', 'crop', '5x5', 'ready', 1 FROM file LIMIT 1`,
  `INSERT INTO revocation (seq, kind, key, until_ms, expires_sec) VALUES (1700000000000, 'grant', 'g', 9007199254740991, 9)`,
];

async function fill(): Promise<void> {
  const world = await makeWorld();
  await makeOwned(world);
  const provider = await makeProvider();
  await put(`users/${world.user.email}/identities/${provider.id}`, { subject: unique("sub") });
  await put(`roles/${unique("role")}`, { scopes: ["a.b"] });
  const packageId = unique("pkg");
  await put(`services/${packageId}`, {
    sourceUrl: "https://s.example",
    proxyPath: `/${packageId}`,
    scopes: ["shop.read"],
    tenant: world.app.tenant,
    access: "token",
  });
  await put(`packages/${packageId}`, { version: "1", organization: `${world.app.tenant}-org`, services: [packageId] });
  await env.DB.batch(MORE.map((sql) => env.DB.prepare(sql)));
}

describe("a backup with a copy of the files", () => {
  let before: Awaited<ReturnType<typeof everyRow>>;
  let files: readonly string[];
  const id = newId();

  beforeAll(async () => {
    await fill();
    before = await everyRow();
    files = await keysOf(env.MEDIA, "");
  });

  it("is taken of a platform that has something in every table", () => {
    expect(TABLES.filter((table) => before[table]!.length === 0)).toEqual([]);
    expect(files.length).toBeGreaterThan(2);
  });

  it("is whole when its manifest is there, and verifies", async () => {
    const made = await run("backup", id);
    expect(made).toMatchObject({ state: "done", error: "" });
    const rows = TABLES.reduce((sum, table) => sum + before[table]!.length, 0);
    expect(made.counts).toMatchObject({ rows, files: files.length, copiedFiles: files.length });
    const verified = await run("verify", id);
    expect(verified).toMatchObject({ state: "done", findings: [] });
  });

  it("writes only what is new when it is taken again", async () => {
    const again = await run("backup", newId());
    expect(again.counts).toMatchObject({ copiedFiles: 0, newParts: 0 });
    expect(again.counts.parts).toBeGreaterThan(20);
  });

  it("is restored into an empty platform, row by row and file by file", async () => {
    await destroy();
    const restored = await run("restore", id);
    expect(restored).toMatchObject({ state: "done", error: "", findings: [] });
    expect(await everyRow()).toEqual(before);
    expect(await keysOf(env.MEDIA, "")).toEqual(files);
  });
});

void COPY;
void deployment;
