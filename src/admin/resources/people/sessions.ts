import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { defineRoute, json, type Route } from "../../../http/route.ts";
import { email } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { hasUser } from "../shared/refusals.ts";

interface Deps {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "listSessions">;
}

/** In practice a person has fewer sessions, because each lives for 12 hours. */
const MOST = 100;

/** Lists a person's sessions. `POST sessions/{sessionId}/revoke` ends one, `POST users/{email}/revoke` ends all. */
export const sessionsRoute = ({ db, oauth }: Deps): Route =>
  defineRoute({
    method: "GET",
    path: "/users/{email}/sessions",
    summary: "List the browsers in which the user is signed in",
    operation: "listSessions",
    params: z.object({ email }),
    produces: "any",
    handle: async ({ params: { email: address }, nowMs }) => {
      if (!(await hasUser(db, address))) return noSuch("user");
      const sessions = await oauth.listSessions(address, nowMs, MOST);
      return json(
        200,
        sessions.map(({ sid, provider, browser, system, country, city, authenticatedAtMs, seenAtMs }) => ({
          sessionId: sid,
          provider,
          browser,
          system,
          country,
          city,
          signedInAt: authenticatedAtMs,
          lastUsedAt: seenAtMs,
        })),
      );
    },
  });
