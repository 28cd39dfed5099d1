import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { sha256Hex } from "../../src/platform/secrets/hash.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { makeUser } from "../support/users.ts";

/** Reads `GET /attention` without pushes, which topics.test.ts covers. */
const items = async (): Promise<any[]> =>
  (await expectJson(await call("/admin/v1/attention", { token: await tokenFor(OPERATOR) }), 200)).items;

// shows: operator/attention/items
it("names a blocked account until it is unlocked", async () => {
  const { email } = await makeUser();
  const account = env.LOGIN_ATTEMPTS.getByName(await sha256Hex(email));
  for (let tries = 0; tries < 15; tries++) await account.attemptCode(false);
  const reason = "wrong password; the account is blocked from now on";
  await env.DB.prepare(
    `INSERT INTO audit_entry (at, request_id, actor, action, subject, outcome, reason, share)
     VALUES (?1, 'r', '', 'sign in', ?2, 'refused', ?3, 'known')`,
  )
    .bind(Date.now(), `users/${email}`, reason)
    .run();
  const blocked = { kind: "account_blocked", subject: email, topic: null, name: null, count: null };
  expect(await items()).toContainEqual({ ...blocked, untilAt: expect.any(Number) });
  const token = await tokenFor(OPERATOR);
  expect((await call(`/admin/v1/users/${email}/unlock`, { token, method: "POST" })).status).toBe(204);
  expect((await items()).filter(({ subject }) => subject === email)).toEqual([]);
});

it("names a tenant whose quota is almost full", async () => {
  const tenant = await makeTenant();
  const client = await makeClient({ tenant });
  const token = await tokenFor(client);
  const file = await expectJson(await call("/media/v2/files", { token, json: { "Content-Type": "text/plain" } }), 200);
  await call(file.uploadLink, { method: "PUT", body: "some text", headers: { "content-type": "text/plain" } });
  expect((await call(file.commitLink, { method: "POST", token, json: {} })).status).toBe(202);
  const about = { organization: `${tenant}-org`, name: "Shop" };
  const full = { kind: "quota_almost_full", subject: tenant, topic: null, name: null, count: 90, untilAt: null };
  await put(`tenants/${tenant}`, { ...about, quota: { bytes: 10 } });
  expect(await items()).toContainEqual(full);
  await put(`tenants/${tenant}`, { ...about, quota: { bytes: 11 } });
  expect((await items()).filter(({ subject }) => subject === tenant)).toEqual([]);
  await put(`tenants/${tenant}`, { ...about, quota: { files: 1 } });
  expect(await items()).toContainEqual({ ...full, count: 100 });
});
