import { setTimeout as sleep } from "node:timers/promises";
import type { RequestOpts } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { basic, EVENT_TYPE, signIn, type Cast } from "./people.ts";
import type { Session } from "./session.ts";

/** Other isolates may accept a revoked token for 5 s. */
const PROPAGATION_MS = 6_000;

/** Looks at a token, then revokes it. */
export async function tellRevocation(session: Session, cast: Cast): Promise<void> {
  session.chapter("A token is looked at, and revoked");
  const token = await signIn(session, cast.shop);
  const { data } = await session.expect(200, (to) => api.getTokenInfo(token, {}, to));
  const { tenant, clientId, scopes } = data;
  session.same("its tenant and client", { tenant, clientId }, { tenant: cast.tenant, clientId: cast.shop.id });
  session.holds("its scopes, the tenant's among them", scopes.includes(`${session.platform}.tenant=${tenant}`), scopes);

  const read = (to: RequestOpts) =>
    api.readEvents(cast.shop.id, EVENT_TYPE, { numEvents: 1, autoCommit: true }, {}, to);
  await session.expect(200, read, { token, note: "it works; the shop has a place of its own in its topic" });
  const headers = { authorization: basic(cast.shop) };
  await session.expect(200, (to) => api.revokeTokens({ token }, to), { headers });
  await session.expect(400, (to) => api.getTokenInfo(token, {}, to), { note: "nobody knows it any more" });

  for (const deadline = Date.now() + PROPAGATION_MS; ; await sleep(500)) {
    const answer = await session.expect([200, 401], read, { token, note: "and it opens nothing" });
    if (answer.status === 200) {
      session.holds("not known everywhere yet, which takes 5 s at most", Date.now() < deadline);
      continue;
    }
    session.same("it says why: insufficient_credentials", answer.data.type, "insufficient_credentials");
    session.holds("with a challenge", answer.header("www-authenticate").startsWith("Bearer"));
    return;
  }
}
