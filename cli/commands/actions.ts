import { changeCommand, listCommand, pagedListCommand } from "../command-line/patterns.ts";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import { printRows } from "../command-line/listing.ts";
import { inWordsOf } from "../terminal/about.ts";
import { loginClient, loginClientOf } from "../session/login-client.ts";
import type { Column } from "../terminal/table.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { clean, formatBytes, formatTime } from "../terminal/values.ts";

/** Operations beyond list, show, set and delete. */
export const actionCommands = (): Command[] => [
  unlock,
  removeSecondFactor,
  listSessions,
  listPasskeys,
  removePasskey,
  enableLogin,
  testProvider,
  newSecret,
  usage,
  ...REVOCATIONS.map(revoke),
  listSealKeys,
  listKeys,
  rotateKeys,
];

const EMAIL = { name: "email", help: "the e-mail address" };

const unlock = changeCommand({
  words: ["user", "unlock"],
  summary: "Unblock an account after failed sign-ins, and reset their count.",
  args: [EMAIL],
  examples: ["user unlock ada@acme.example"],
  send: ({ opts }, email) => api.unlockUser(email, opts),
  done: (_, email) => `The user ${email} may sign in again.`,
});

const removeSecondFactor = changeCommand({
  words: ["user", "remove-second-factor"],
  summary: "Remove the second factor of a person who has lost the app and the recovery codes.",
  args: [EMAIL],
  notes: ["Make sure who asks: whoever knows the password can sign in afterwards."],
  examples: ["user remove-second-factor ada@acme.example"],
  ask: (email) => `Remove the second factor of ${email}?`,
  send: ({ opts }, email) => api.removeUserSecondFactor(email, opts),
  done: (_, email) => `${email} signs in by the password alone.`,
});

const SESSION_COLUMNS: readonly Column<api.UserSession>[] = [
  { field: "sessionId", title: "SESSION" },
  "browser",
  "system",
  "city",
  "country",
  { field: "provider", title: "BY" },
  "signedInAt",
  "lastUsedAt",
];

const listSessions = listCommand({
  words: ["user", "sessions"],
  summary: "List the browsers in which a person is signed in.",
  args: [EMAIL],
  notes: ["`session revoke <session>` ends one of them, `user revoke <email>` all. The last use is told to the hour."],
  examples: ["user sessions ada@acme.example"],
  columns: SESSION_COLUMNS,
  nouns: "sessions",
  rows: ({ opts }, email = "") => ok(api.listUserSessions(email, opts)),
});

const PASSKEY_COLUMNS: readonly Column<api.Passkey>[] = [
  { field: "id", title: "PASSKEY" },
  "name",
  { field: "backedUp", title: "COPIED", kind: "flag" },
  "createdAt",
  "lastUsedAt",
];

const listPasskeys = listCommand({
  words: ["user", "passkeys"],
  summary: "List a person's passkeys.",
  args: [EMAIL],
  examples: ["user passkeys ada@acme.example"],
  columns: PASSKEY_COLUMNS,
  nouns: "passkeys",
  rows: ({ opts }, email = "") => ok(api.listUserPasskeys(email, opts)),
});

const removePasskey = changeCommand({
  words: ["user", "remove-passkey"],
  summary: "Remove a passkey that a person has lost.",
  args: [EMAIL, { name: "passkey", help: "its id, as `user passkeys` lists it" }],
  notes: ["Make sure who asks. The person's sessions go on."],
  examples: ["user remove-passkey ada@acme.example q1YbRfTz"],
  ask: (email, passkey) => `Remove the passkey ${passkey} of ${email}?`,
  send: ({ opts }, email, passkey) => api.removeUserPasskey(email, passkey, opts),
  done: (_, email) => `The passkey does not sign ${email} in any more.`,
});

const enableLogin: Command = {
  words: ["tenant", "enable-login"],
  summary: "Let people of a tenant sign in with the command line: make its client <tenant>.cli.",
  args: [{ name: "tenant", help: "the tenant" }],
  options: [],
  notes: [
    "The client has no secret and comes back to this machine alone. What a person may do with it is what the person's " +
      "roles hold, in the tenant or in the organization. A second call puts the client back as it was made.",
  ],
  examples: ["tenant enable-login acmeshop"],
  changes: true,
  async run(invocation) {
    const { args, io } = invocation;
    const tenant = args["tenant"] ?? "";
    const { opts, platform } = await invocation.client();
    const made = await ok(api.putClient(loginClientOf(tenant), loginClient(tenant, platform), opts));
    sayDone(
      io,
      inWordsOf(
        invocation.about,
        `People of ${clean(tenant)} sign in by: npm run plat -- login --tenant ${clean(tenant)}`,
      ),
    );
    await printRecord(invocation, made);
  },
};

const TRIAL_COLUMNS: readonly Column<api.ProviderTrial["checks"][number]>[] = ["check", "result", "detail"];

const testProvider: Command = {
  words: ["identity-provider", "test"],
  summary: "Test an identity provider as far as possible without a person. Nobody is signed in.",
  args: [{ name: "provider", help: "its id" }],
  options: [],
  notes: [
    "It is asked what a sign-in asks it, up to the code. The first check that fails is the last.",
    "Exit code 1 if a check failed. `unclear`: the provider's answer says neither.",
  ],
  examples: ["identity-provider test corp", "identity-provider test corp --json"],
  async run(invocation) {
    const { args, io, options } = invocation;
    const { opts } = await invocation.client();
    const trial = await ok(api.testIdentityProvider(args["provider"] ?? "", opts));
    if (options.has("json")) await printRecord(invocation, trial);
    else await printRows(trial.checks, { io, asJson: false, columns: TRIAL_COLUMNS, limit: Infinity, nouns: "checks" });
    return trial.works ? 0 : 1;
  },
};

const newSecret: Command = {
  words: ["client", "new-secret"],
  summary: "Give a confidential client a new secret. Its current one works for 24 more hours.",
  args: [{ name: "client", help: "its id" }],
  options: [],
  notes: [
    "The secret is shown once, alone on the output, so that you can store it in a file or a variable. An " +
      "older secret that was about to expire stops working now. After a leak, use `client set " +
      "--client-secret-file` instead: it ends all other secrets at once.",
  ],
  examples: [
    "client new-secret acme.shop",
    "npm run -s plat -- client new-secret acme.shop > shop.secret",
    "client new-secret acme.shop --json",
  ],
  changes: true,
  async run(invocation) {
    const { args, io, options } = invocation;
    const id = args["client"] ?? "";
    const client = await invocation.client();
    const made = await ok(api.makeClientSecret(id, client.opts));
    const until = formatTime(made.previousExpiresAt);
    sayDone(io, `The client ${clean(id)} has a new secret, shown this once. The one before works until ${until}.`);
    if (options.has("json")) await printRecord(invocation, made);
    else await io.out(`${made.clientSecret}\n`);
  },
};

const usedText = (used: NonNullable<api.TenantUsage["used"]>): string => {
  const count = (value: number): string => value.toLocaleString("en");
  const rows = [
    ["requests", count(used.requests)],
    ["tokens", count(used.tokens)],
    ["events", `${count(used.eventsPublished)} published, ${count(used.eventsRead)} read`],
    ["", `${count(used.eventsPushed)} pushed`],
    ["traffic", `${formatBytes(used.receivedBytes)} in, ${formatBytes(used.sentBytes)} out`],
    ["variants", count(used.variants)],
    ["stored", `at most ${count(used.mostFiles)} files, ${formatBytes(used.mostBytes)}`],
    ["", `${formatBytes(used.storedByteHours)} × hours`],
  ];
  const title = `\n${used.month}, ${used.isComplete ? "complete" : "so far"}\n`;
  return title + rows.map(([name = "", text = ""]) => `${name.padEnd(9)} ${text}\n`).join("");
};

const usage: Command = {
  words: ["tenant", "usage"],
  summary: "Show how much a tenant stores, its quota, and what it used in a month.",
  args: [{ name: "tenant", help: "the tenant" }],
  options: [{ flag: "month", value: "<month>", help: "what it used in this month: 2026-11" }],
  examples: ["tenant usage acmeshop", "tenant usage acmeshop --month 2026-11", "tenant usage acmeshop --json"],
  async run(invocation) {
    const { args, io, options, client } = invocation;
    const { opts } = await client();
    const stored = await ok(api.getTenantUsage(args["tenant"] ?? "", { month: options.value("month") }, opts));
    if (options.has("json")) return printRecord(invocation, stored);
    const { files, bytes, pending, quota, used } = stored;
    const count = (value: number): string => value.toLocaleString("en");
    const share = (part: number, limit: number | undefined, show: (value: number) => string): string =>
      limit === undefined ? "no limit" : `${percent(part, limit)} of ${show(limit)}`;
    await io.out(`files  ${count(files)}, ${share(files, quota.files, count)}\n`);
    await io.out(`bytes  ${formatBytes(bytes)}, ${share(bytes, quota.bytes, formatBytes)}\n`);
    await io.out(`pending  ${count(pending.files)} files, ${formatBytes(pending.bytes)} reserved\n`);
    if (used !== undefined) await io.out(usedText(used));
  },
};

const percent = (part: number, whole: number): string => `${(whole === 0 ? 100 : (part / whole) * 100).toFixed(1)} %`;

const REVOCATIONS = [
  {
    word: "client",
    arg: { name: "client", help: "its id" },
    operation: api.revokeClient,
    ends: "every access token and refresh token of the client",
    id: "acme.shop",
  },
  {
    word: "user",
    arg: { name: "email", help: "the e-mail address" },
    operation: api.revokeUser,
    ends: "the user's sessions, refresh tokens and access tokens",
    id: "ada@acme.example",
  },
  {
    word: "tenant",
    arg: { name: "tenant", help: "the tenant" },
    operation: api.revokeTenant,
    ends: "every token of the tenant's clients and users",
    id: "acmeshop",
  },
  {
    word: "session",
    arg: { name: "session", help: "its id, the claim sid of its tokens" },
    operation: api.revokeSession,
    ends: "the session and every token issued in it",
    id: "2f1c…",
  },
] as const;

/** Revokes the tokens that were issued until now. It does not take the right to get new ones. */
const revoke = ({ word, arg, operation, ends, id }: (typeof REVOCATIONS)[number]): Command =>
  changeCommand({
    words: [word, "revoke"],
    summary: `End ${ends}, everywhere within seconds.`,
    args: [arg],
    notes: [
      word === "session"
        ? "A new sign-in starts a new session."
        : `It ends what was issued until now. To keep the ${word} from getting more, use \`${word} set --disabled\`.`,
    ],
    examples: [`${word} revoke ${id}`, `${word} revoke ${id} --yes`],
    ask: (key) => `End ${ends} (${key})?`,
    send: ({ opts }, key) => operation(key, opts),
    done: (_, key) => `Ended: ${ends} (${key}).`,
  });

const KEY_COLUMNS: readonly Column<api.SigningKey>[] = [
  { field: "kid", title: "KEY" },
  { field: "alg", title: "ALGORITHM" },
  "state",
  "createdAt",
  { field: "signsFrom", kind: "time" },
  { field: "publishedUntil", kind: "time" },
];

const SEAL_KEY_COLUMNS: readonly Column<api.SealKey>[] = [
  { field: "id", title: "KEY" },
  "use",
  { field: "identityProviders", title: "PROVIDERS", kind: "count" },
  { field: "signingKeys", kind: "count" },
  { field: "secondFactors", title: "FACTORS", kind: "count" },
  { field: "clientSecrets", title: "CLIENTS", kind: "count" },
  { field: "pushSubscriptions", title: "PUSH", kind: "count" },
  { field: "mayGo", kind: "flag" },
];

const listSealKeys = listCommand({
  words: ["seal-key", "list"],
  summary: "List the keys of SEAL_KEYS with what each encrypts, and which of them may be removed.",
  notes: [
    "To replace a key, put the new one in front of it in SEAL_KEYS. Secrets are encrypted again within " +
      "minutes. Remove the old key an hour after the list says MAY GO.",
  ],
  examples: ["seal-key list"],
  columns: SEAL_KEY_COLUMNS,
  nouns: "seal keys",
  rows: ({ opts }) => ok(api.listSealKeys(opts)),
});

const listKeys = pagedListCommand({
  words: ["signing-key", "list"],
  summary: "List the keys that sign tokens, the newest first.",
  notes: ["States: published (not in use yet), signs, verifies (some tokens that it signed are still valid), gone."],
  examples: ["signing-key list"],
  columns: KEY_COLUMNS,
  nouns: "signing keys",
  rows:
    () =>
    ({ opts }, page) =>
      rowsOf((query) => api.listSigningKeys(query, opts), page),
});

const rotateKeys: Command = {
  words: ["signing-key", "rotate"],
  summary: "Sign with new keys from now on. The old ones verify until their tokens expire.",
  args: [],
  options: [
    { flag: "leaked", help: "end the old keys at once, and every access token and ID token with them" },
    YES_OPTION,
  ],
  notes: [
    "The platform also rotates keys by itself. Nobody is signed out, so there is no question without --leaked.",
    "With --leaked, clients get new tokens by their secret or refresh token; people stay signed in.",
  ],
  examples: ["signing-key rotate", "signing-key rotate --leaked --yes"],
  changes: true,
  async run(invocation) {
    const { options, io, client } = invocation;
    const leaked = options.has("leaked");
    if (leaked) await confirm(invocation, "End the old keys and every access token and ID token?");
    const keys = await ok(api.rotateSigningKeys(leaked ? { leaked } : {}, (await client()).opts));
    sayDone(
      io,
      leaked ? "New keys sign from now on. All tokens of the old ones have ended." : "New keys sign from now on.",
    );
    await printRows(keys, { io, asJson: options.has("json"), columns: KEY_COLUMNS, limit: Infinity, nouns: "keys" });
  },
};
