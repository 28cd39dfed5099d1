import { createPlinth, type Plinth } from "../../packages/sdk/src/index.ts";
import { readEnvFile } from "../client/env-file.ts";
import type { Invocation, Option } from "../command-line/command.ts";
import { fetchThatTellsLoss } from "../client/send.ts";
import { isOfForeignFile } from "../client/target.ts";
import { clean } from "../terminal/values.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { createSessionStore, type Session } from "./store.ts";
import { createSessionTokens } from "./tokens.ts";

/**
 * The caller of a command that is not for operators:
 *
 *   app      PLINTH_CLIENT_ID and PLINTH_CLIENT_SECRET of the environment, else those of `.env`, which `init` writes
 *   person   who signed in by `login`
 *
 * An application goes first, because only applications own topics and files.
 */
export type Who =
  | { readonly kind: "app"; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: "person"; readonly session: Session };

export interface Caller {
  readonly who: Who;
  readonly plinth: Plinth;
}

export const AS_OPTION: Option = {
  flag: "as",
  value: "<app|person>",
  help: "who acts: the application of PLINTH_CLIENT_ID (of the environment or .env), or who signed in; the first of both",
};

type Asked = Pick<Invocation, "io" | "options" | "target">;

export function findWho({ io, options, target }: Asked): Who {
  const as = options.value("as");
  if (as !== undefined && as !== "app" && as !== "person") throw new UsageError(`--as takes app or person, not ${as}.`);
  const app = as === "person" ? undefined : findApp({ io, options, target });
  if (app !== undefined) return app;
  if (as === "app")
    throw new UsageError(
      "There is no application: set PLINTH_CLIENT_ID and PLINTH_CLIENT_SECRET, or make one: npm run plat -- init",
    );
  const store = createSessionStore(io.env);
  const session = store.read(target.base, options.has("organization") ? "organization" : "tenant");
  if (session !== undefined) return { kind: "person", session };
  const operator = store.read(target.base, "organization");
  if (operator !== undefined)
    throw new UsageError(
      `${clean(operator.user)} is signed in for organization ${clean(operator.place)} alone, which is for operators: npm run plat -- whoami ` +
        "--organization. For topics and files make an application (npm run plat -- init), or sign in for a tenant " +
        "(npm run plat -- login --tenant <tenant>).",
    );
  throw new UsageError(
    `Nobody is known at ${target.base}. Make an application (npm run plat -- init), sign in (npm run plat -- login), or set PLINTH_CLIENT_ID and ` +
      "PLINTH_CLIENT_SECRET.",
  );
}

/**
 * Secrets of `.env` go to the platform that it names, and to no other one. Secrets of the environment do not go to an
 * address of `.env`, which somebody else may have written, unless it is on this machine.
 */
function findApp({ io, target }: Asked): Who | undefined {
  const file = readEnvFile(io.cwd);
  const isOfFile = target.isFromFile || file["PLINTH_URL"]?.replace(/\/+$/, "") === target.base;
  const ofFile = isOfFile ? file : {};
  const isKept = isOfForeignFile(target);
  const source = io.env["PLINTH_CLIENT_ID"] && !isKept ? io.env : ofFile;
  const { PLINTH_CLIENT_ID: clientId, PLINTH_CLIENT_SECRET: clientSecret } = source;
  if (isKept && io.env["PLINTH_CLIENT_ID"] && io.env["PLINTH_CLIENT_ID"] !== clientId)
    io.err(
      `The address ${clean(target.base)} comes from .env: say --url to use PLINTH_CLIENT_ID of the environment there.\n`,
    );
  if (!clientId || (!clientSecret && source === ofFile)) return undefined;
  if (!clientSecret) throw new UsageError("PLINTH_CLIENT_ID is set, and PLINTH_CLIENT_SECRET is not.");
  return { kind: "app", clientId, clientSecret };
}

export function connectAs(who: Who, { io, target }: Asked, fetch = globalThis.fetch): Caller {
  const credentials =
    who.kind === "app"
      ? { clientId: who.clientId, clientSecret: who.clientSecret }
      : createSessionTokens(createSessionStore(io.env), who.session, io.nowMs).get;
  const { base: url, platform } = target;
  return { who, plinth: createPlinth({ url, platform, credentials, fetch: fetchThatTellsLoss(fetch) }) };
}

export const findCaller = (asked: Asked, fetch?: typeof globalThis.fetch): Caller =>
  connectAs(findWho(asked), asked, fetch);
