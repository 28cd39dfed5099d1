import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { defineRoute, json, type Route } from "../../../http/route.ts";
import { identifier } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";

/** Tests a provider as far as possible without a person: nobody is signed in, and nothing changes. */
export const identityProviderTestRoute = ({ oauth }: { readonly oauth: Pick<OAuthPort, "tryProvider"> }): Route =>
  defineRoute({
    method: "POST",
    path: "/identity-providers/{id}/test",
    summary: "Test an identity provider: secret, discovery, keys, and whether it knows the platform's client",
    operation: "testIdentityProvider",
    params: z.object({ id: identifier }),
    handle: async ({ params: { id }, url }) => {
      const trial = await oauth.tryProvider(id, url.origin);
      return trial === undefined ? noSuch("identity provider") : json(200, trial, { "cache-control": "no-store" });
    },
  });
