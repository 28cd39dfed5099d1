import { setTimeout as sleep } from "node:timers/promises";
import { basic, EVENT_TYPE, signIn, type Cast } from "./people.ts";
import type { Session } from "./session.ts";

/** Elsewhere than in the isolate that revoked, a token may live on for 5 s (contract 2.1). */
const PROPAGATION_MS = 6_000;

/** What a token says of itself, and its end. */
export async function tellRevocation(session: Session, cast: Cast): Promise<void> {
  session.chapter("A token is looked at, and revoked");
  const token = await signIn(session, cast.shop);
  const about = `/oauth2/v1/tokeninfo?access_token=${token}`;
  const { tenant, clientId, scopes } = (await session.call(200, "GET", about)).json();
  session.same("its tenant and client", { tenant, clientId }, { tenant: cast.tenant, clientId: cast.shop.id });
  session.holds("its scopes, the tenant's among them", scopes.includes(`${session.platform}.tenant=${tenant}`), scopes);

  const read = `/pubsub/v1/topics/${cast.shop.id}/${EVENT_TYPE}/read`;
  const json = { numEvents: 1, autoCommit: true };
  await session.call(200, "POST", read, {
    token,
    json,
    note: "it works; the shop has a place of its own in its topic",
  });
  const headers = { authorization: basic(cast.shop) };
  await session.call(200, "POST", "/oauth2/v1/revoke", { headers, form: { token } });
  await session.call(400, "GET", about, { note: "nobody knows it any more" });

  for (const deadline = Date.now() + PROPAGATION_MS; ; await sleep(500)) {
    const answer = await session.ask("POST", read, { token, json, note: "and it opens nothing" });
    if (answer.status === 200 && Date.now() < deadline) continue;
    session.same("401, and why", [answer.status, answer.json().type], [401, "insufficient_credentials"]);
    session.holds("with a challenge", answer.header("www-authenticate").startsWith("Bearer"));
    return;
  }
}
