import { createPlinth } from "../../packages/sdk/src/index.ts";
import * as api from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { AdminRefusal } from "../client/admin-client.ts";
import { isLoopback } from "../client/target.ts";
import { inWordsOf } from "../terminal/about.ts";
import type { Command, Given, Invocation, Option } from "../command-line/command.ts";
import { printRecord, sayDone } from "../command-line/print.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, formatTime } from "../terminal/values.ts";
import { AS_OPTION, connectAs, findWho } from "./caller.ts";
import { signInByDevice } from "./device-sign-in.ts";
import { discover } from "./discover.ts";
import { loginClientOf } from "./login-client.ts";
import { lacksBrowser, openBrowser } from "./open-browser.ts";
import { revoke, signIn } from "./sign-in.ts";
import { createSessionStore, type Session } from "./store.ts";
import { createSessionTokens } from "./tokens.ts";

export const sessionCommands = (): Command[] => [login, logout, whoami, token];

const DEMO_TENANT = "demo";
const LOGIN_MS = 300_000;
const ORGANIZATION_OPTION: Option = { flag: "organization", help: "the sign-in for an organization" };

const login: Command = {
  words: ["login"],
  summary: "Sign in by the browser, for a tenant or as an operator of an organization.",
  args: [],
  options: [
    {
      flag: "tenant",
      value: "<tenant>",
      help: `the tenant; default: the organization's id, else (on this machine) ${DEMO_TENANT}`,
    },
    { flag: "organization", value: "<organization>", help: "be an operator of this organization instead" },
    { flag: "client", value: "<client>", help: "the client to sign in with; default: <tenant>.cli" },
    { flag: "scope", value: "<scope>", repeated: true, help: "only this scope; default: all that you may have" },
    { flag: "print-url", help: "print an address for a browser of this machine, and open nothing" },
    {
      flag: "device",
      help: "show a code to type in a browser of another device; a machine without a browser does so by itself",
    },
  ],
  notes: [
    "The browser of this machine is the way, with PKCE. Where there is none (no screen, or a terminal over SSH), a code " +
      "for a browser elsewhere is shown (RFC 8628). --device and --print-url choose, and so does BROWSER.",
    "The client <tenant>.cli must exist: an operator makes it once by `npm run plat -- tenant enable-login <tenant>`. " +
      "`npm start` has it for the tenants demo and operators.",
    "The tokens are kept in a file that only you can read, below ~/.config/plinth (PLINTH_CONFIG_DIR chooses another " +
      "folder). A sign-in for a tenant and one for an organization are kept side by side. `logout` ends both.",
  ],
  examples: [
    "login",
    "login --tenant acme --url https://platform.example",
    "login --organization operators",
    "login --organization operators --device",
  ],
  async run(invocation) {
    const { io, options, target, about } = invocation;
    const [organization, scopes] = [options.value("organization"), scopesIn(options)];
    const tenant =
      options.value("tenant") ?? organization ?? (isLoopback(new URL(target.base)) ? DEMO_TENANT : undefined);
    const clientId = options.value("client") ?? (tenant === undefined ? undefined : loginClientOf(tenant));
    const place = organization ?? tenant;
    if (clientId === undefined || place === undefined)
      throw new UsageError("Say which tenant you belong to: --tenant <tenant>, or --client <client> besides.");
    const kind = organization === undefined ? "tenant" : "organization";
    const discovered = await discover(target.base);
    const placeScope = `${discovered.platform}.${kind === "tenant" ? "tenant" : "org"}=${place}`;
    const common = {
      discovered,
      clientId,
      scope: [placeScope, ...scopes].join(" "),
      signal: AbortSignal.timeout(LOGIN_MS),
    };
    // The platform shows an error page for an unknown client, so the browser would never come back here.
    const hint = `  If it does not know ${clientId}, an operator runs: ${enableLine(tenant, about)}\n`;
    const byDevice = () =>
      signInByDevice({
        ...common,
        show: ({ address, code }) =>
          io.err(`Open this address in any browser:\n  ${clean(address)}\nand type the code:\n  ${clean(code)}\n`),
        enable: enableLine(tenant, about),
      });
    const byBrowser = () =>
      signIn({
        ...common,
        async open(address) {
          const opened = !options.has("print-url") && (await openBrowser(address, io.env));
          io.err(
            opened
              ? `Sign in in your browser. If it did not open:\n  ${address}\n`
              : `Open this address to sign in:\n  ${address}\n`,
          );
          io.err(hint);
        },
      });
    const isChosen = options.has("device") || options.has("print-url");
    const isAlone = !isChosen && lacksBrowser(io.env);
    if (isAlone) io.err("There is no browser here, so use one elsewhere (--print-url expects one here).\n");
    const tokens = await (isAlone || options.has("device") ? byDevice() : byBrowser()).catch(toSlow);
    const info = await readInfo(target.base, async () => tokens.accessToken);
    const session: Session = {
      base: target.base,
      kind,
      place,
      clientId,
      user: info.user ?? "",
      accessToken: tokens.accessToken,
      expiresAtMs: io.nowMs() + tokens.expiresInSec * 1_000,
      refreshToken: tokens.refreshToken,
    };
    const store = createSessionStore(io.env);
    const before = store.read(target.base, kind);
    store.write(session);
    // Ends the sign-in that this one replaces, since nobody would see it any more. A failure here does no harm.
    if (before !== undefined) await revoke(discovered, before.clientId, before.refreshToken).catch(() => undefined);
    sayDone(io, `${clean(session.user)} is signed in for ${kind} ${place}.`);
    if (options.has("json")) await printRecord(invocation, shownSession(session));
  },
};

/** An empty text, such as an unset variable of a shell, would mean all scopes. */
function scopesIn(options: Given): readonly string[] {
  const scopes = options.values("scope");
  if (scopes.some((one) => one.trim() === "")) throw new UsageError("--scope: nothing is in it.");
  return scopes;
}

const enableLine = (tenant: string | undefined, about: Invocation["about"]): string =>
  inWordsOf(about, `npm run plat -- tenant enable-login ${tenant ?? "<tenant>"}`);

/** Explains that the browser never came back. */
function toSlow(error: unknown): never {
  if (error instanceof Error && error.name === "TimeoutError")
    throw new UserError(`Nobody signed in within ${LOGIN_MS / 60_000} minutes. Try again: npm run plat -- login`);
  throw error;
}

const shownSession = ({ base, kind, place, clientId, user }: Session) => ({
  user,
  [kind]: place,
  client: clientId,
  platform: base,
});

const logout: Command = {
  words: ["logout"],
  summary: "Sign out: end the sign-ins at the platform, and remove their tokens from this machine.",
  args: [],
  options: [{ flag: "all", help: "of every platform" }],
  notes: ["The browser stays signed in. The account page (`open account`) signs it out."],
  examples: ["logout", "logout --all"],
  async run({ io, options, target }) {
    const store = createSessionStore(io.env);
    const sessions = store.all().filter(({ base }) => options.has("all") || base === target.base);
    if (sessions.length === 0) return sayDone(io, `Nobody is signed in at ${target.base}.`);
    const failed: string[] = [];
    for (const session of sessions) {
      // Removes the tokens from this machine first, even if the platform cannot be reached.
      store.remove(session);
      try {
        await revoke(await discover(session.base), session.clientId, session.refreshToken);
      } catch (error) {
        failed.push(`${session.base}: ${error instanceof Error ? error.message : String(error)}`);
      }
      sayDone(io, `${clean(session.user)} is signed out of ${session.kind} ${session.place} at ${session.base}.`);
    }
    if (failed.length > 0)
      throw new UserError(
        `The tokens are gone from this machine, but the platform was not told: ${failed.join("; ")} The account page takes ` +
          "the access away.",
      );
  },
};

const whoami: Command = {
  words: ["whoami"],
  summary: "Show who acts: the application or the person, its tenant and its scopes.",
  args: [],
  options: [AS_OPTION, ORGANIZATION_OPTION],
  notes: ["The platform is asked, so the answer also says that the token works."],
  examples: ["whoami", "whoami --as person --json"],
  async run(invocation) {
    const who = findWho(invocation);
    const { base } = invocation.target;
    const { plinth } = connectAs(who, invocation);
    const ofPerson = who.kind === "person" ? tokensOf(who.session, invocation).get : undefined;
    const info = await readInfo(base, ofPerson ?? (() => plinth.token()));
    const place = who.kind === "person" && who.session.kind === "organization" ? who.session.place : undefined;
    await printRecord(invocation, {
      platform: base,
      kind: who.kind,
      ...(info.user !== undefined && { user: info.user }),
      client: info.clientId,
      ...(place === undefined ? { tenant: info.tenant } : { organization: place }),
      scopes: info.scopes,
      ...(who.kind === "person" && { tokenUntil: formatTime(currentOf(who.session, invocation).expiresAtMs) }),
    });
  },
};

/** The session as it is after a renewal. */
const currentOf = (session: Session, { io }: Pick<Invocation, "io">): Session =>
  createSessionStore(io.env).read(session.base, session.kind) ?? session;

const token: Command = {
  words: ["token"],
  summary: "Print an access token, for curl and other programs.",
  args: [],
  options: [
    {
      flag: "scope",
      value: "<scope>",
      repeated: true,
      help: "only this scope; default: all of the application or sign-in",
    },
    AS_OPTION,
    ORGANIZATION_OPTION,
  ],
  notes: [
    "The token is alone on the output. It ends within an hour, so fetch one for each script: " +
      'curl -H "Authorization: Bearer $(npm run -s plat -- token)" …',
  ],
  examples: ["token", "token --scope plat.media_view", "token --as person"],
  async run(invocation) {
    const { io, options, target } = invocation;
    const scope = scopesIn(options).join(" ");
    const who = findWho(invocation);
    const text = await (async () => {
      if (scope === "") return connectAs(who, invocation).plinth.token();
      if (who.kind === "app") {
        const { clientId, clientSecret } = who;
        return createPlinth({ url: target.base, credentials: { clientId, clientSecret, scope } }).token();
      }
      return tokensOf(who.session, invocation).narrow(scope);
    })();
    if (options.has("json")) await printRecord(invocation, { accessToken: text });
    else await io.out(`${text}\n`);
  },
};

const tokensOf = (session: Session, { io }: Pick<Invocation, "io">) =>
  createSessionTokens(createSessionStore(io.env), session, io.nowMs);

/** Asks the platform about a token. A refused one is replaced once: it may have been revoked before its end. */
async function readInfo(base: string, next: (refused?: string) => Promise<string>): Promise<api.TokenInfo> {
  const ask = async (accessToken: string) => {
    const plinth = createPlinth({ url: base, credentials: () => accessToken });
    return api.getTokenInfo(accessToken, {}, plinth.operations);
  };
  const first = await next();
  let answer = await ask(first);
  if (answer.status === 400) {
    const second = await next(first);
    if (second !== first) answer = await ask(second);
  }
  if (answer.status === 200) return answer.data;
  const { error, error_description: message } = answer.data;
  throw new AdminRefusal(answer.status, error, message);
}
