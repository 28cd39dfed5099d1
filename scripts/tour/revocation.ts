import { setTimeout as sleep } from "node:timers/promises";
import { basic, signIn, type Cast } from "./people.ts";
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

  const files = `/media/v2/files?tenant=${cast.tenant}`;
  await session.call(200, "GET", files, { token, note: "it works" });
  const headers = { authorization: basic(cast.shop) };
  await session.call(200, "POST", "/oauth2/v1/revoke", { headers, form: { token } });
  await session.call(400, "GET", about, { note: "nobody knows it any more" });

  for (const deadline = Date.now() + PROPAGATION_MS; ; await sleep(500)) {
    const { status, header, json } = await session.ask("GET", files, { token, note: "and it opens nothing" });
    if (status === 200 && Date.now() < deadline) continue;
    session.same("401, insufficient_credentials", [status, json().type], [401, "insufficient_credentials"]);
    session.holds("with a challenge", header("www-authenticate").startsWith("Bearer"));
    return;
  }
}
