import * as z from "zod/mini";
import { problem } from "../../../http/errors/errors.ts";
import { pageOf, invalidCursor, type Paging } from "../../../http/input/paging.ts";
import { defineRoute, json, jsonPage, type Route } from "../../../http/route.ts";
import type { Result } from "../../../platform/model/result.ts";
import { actorOf } from "../../../platform/ports/audit.ts";

/** The port to the OAuth service: facts about the keys that sign tokens, never the keys themselves. */
export interface SigningKeys {
  /** Lists the keys, the newest first. */
  page(page: KeyPage, nowMs: number): Promise<readonly SigningKey[]>;
  /**
   * Makes keys that sign at once, and an audit row. It is refused while too many keys are published, unless `earlier`
   * is `end`.
   */
  byOperator(
    by: { readonly actor: string; readonly requestId: string; readonly nowMs: number },
    earlier: "verify" | "end",
  ): Promise<Result<readonly SigningKey[], { readonly retryAfterSec: number }>>;
}

interface KeyPage {
  /** The last key of the previous page. */
  readonly before: { readonly createdAtMs: number; readonly kid: string } | undefined;
  readonly limit: number;
  readonly skip: number;
}

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  /**
   * `published`: it does not sign yet. `verifies`: another key signs now. `gone`: `/jwks` does not have it any more.
   */
  readonly state: "published" | "signs" | "verifies" | "gone";
  readonly createdAtMs: number;
  readonly signsFromMs: number;
  readonly publishedUntilMs: number | undefined;
}

export const signingKeyRoutes = (keys: SigningKeys): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/signing-keys",
    summary: "List every signing key, the newest first",
    operation: "listSigningKeys",
    paged: true,
    handle: async ({ url, paging, nowMs }) => {
      const before = readCursor(paging);
      if (before === "invalid") return invalidCursor();
      const found = await pageOf(paging, {
        after: before,
        beginning: undefined,
        read: (from, range) => keys.page({ before: from, ...range }, nowMs),
        keyOf: ({ createdAtMs, kid }) => [createdAtMs, kid],
      });
      return jsonPage({ url, paging }, found, toJson);
    },
  }),
  defineRoute({
    method: "POST",
    path: "/signing-keys",
    summary: "Sign with new keys from now on; the old ones verify while their tokens live",
    operation: "rotateSigningKeys",
    query: z.object({ leaked: z.optional(z.enum(["true", "false"])) }),
    handle: async ({ principal, requestId, nowMs, query: { leaked } }) => {
      const by = { actor: actorOf(principal), requestId, nowMs };
      const made = await keys.byOperator(by, leaked === "true" ? "end" : "verify");
      if (made.ok) return json(201, made.value.map(toJson));
      return problem("insufficient_resources", "Too many active signing keys. Wait until an older key expires.", {
        headers: { "retry-after": String(made.error.retryAfterSec) },
      });
    },
  }),
];

function readCursor({ cursor }: Paging): KeyPage["before"] | "invalid" {
  if (cursor === undefined) return undefined;
  const [createdAtMs, kid] = cursor;
  return typeof createdAtMs === "number" && typeof kid === "string" ? { createdAtMs, kid } : "invalid";
}

const toJson = (key: SigningKey): object => ({
  kid: key.kid,
  alg: key.alg,
  state: key.state,
  createdAt: key.createdAtMs,
  signsFrom: key.signsFromMs,
  publishedUntil: key.publishedUntilMs ?? null,
});
