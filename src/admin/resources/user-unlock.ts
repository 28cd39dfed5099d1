import * as z from "zod/mini";
import { noSuch } from "../../http/errors.ts";
import { defineRoute, empty, type Route } from "../../http/route.ts";
import { email } from "../fields.ts";
import type { AdminDeps } from "../ports.ts";

const EXISTS = `SELECT 1 FROM user WHERE email = ?1`;

export const userUnlockRoute = ({ db, audit, unlock }: AdminDeps): Route =>
  defineRoute({
    method: "POST",
    path: "/users/{email}/unlock",
    summary: "End the block of the user's account and forget its failed sign-ins",
    operation: "unlockUser",
    params: z.object({ email }),
    produces: "any",
    handle: async ({ params, nowMs: atMs, requestId, principal }) => {
      if ((await db.prepare(EXISTS).bind(params.email).first()) === null) return noSuch("user");
      await unlock(params.email);
      const done = { action: "unlock", subject: `users/${params.email}`, outcome: "done", reason: "" } as const;
      await audit.statement("always", { atMs, requestId, actor: principal.clientId, ...done }).run();
      return empty(204);
    },
  });
