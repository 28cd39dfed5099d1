import { randomBytes } from "node:crypto";
import { basename, join, relative } from "node:path";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { RESOURCES } from "../resources/all.ts";
import { inWordsOf } from "../terminal/about.ts";
import { find, isOtherwise, type OperatorClient } from "../client/admin-client.ts";
import { ENV_FILE } from "../client/env-file.ts";
import { isLoopback } from "../client/target.ts";
import type { Command, Invocation } from "../command-line/command.ts";
import { printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean } from "../terminal/values.ts";
import { readEnvFile } from "../client/env-file.ts";
import { findConflicts, ignoreEnvFile, mayBeWritten, writeEnvFile, type Values } from "./dot-env.ts";
import { detectFramework, KINDS, type Framework, type Kind } from "./framework.ts";
import { runInstall, shownInstall } from "./install.ts";
import { snippetFor, type Snippet } from "./snippets.ts";

const DEMO_TENANT = "demo";

/**
 * `init`: makes the application in a folder a client of the platform.
 *
 *   look at the folder ──▶ ask what is missing ──▶ look for conflicts ──▶ make the client ──▶ .env ──▶ snippet
 *
 * The questions come first: after a conflict or the answer "no", the platform and the folder are as they were. If
 * `.env` cannot be written, the client is removed again.
 */
export const initCommand: Command = {
  words: ["init"],
  summary: "Make an application for this folder: its client, its .env, and code to begin with.",
  args: [{ name: "name", help: "its name in the tenant; default: the folder's", optional: true }],
  options: [
    { flag: "kind", value: "<browser|server|machine>", help: "default: by the framework of the folder" },
    { flag: "tenant", value: "<tenant>", help: `the tenant that it belongs to; on this machine: ${DEMO_TENANT}` },
    { flag: "redirect-uri", value: "<uri>", repeated: true, help: "where sign-ins return to; default: /callback here" },
    { flag: "scope", value: "<scope>", repeated: true, help: "what it may do; default: by its kind" },
    { flag: "install", help: "install what the code imports; asked at a terminal" },
    YES_OPTION,
  ],
  notes: [
    "browser: a page without a secret, where people sign in. server: a server with a secret, where people sign in. " +
      "machine: a program with a secret that acts for itself.",
    "Known frameworks: Next.js, Express, Fastify, Hono, Vite, FastAPI, Flask. The secret is in .env alone, which is " +
      "added to .gitignore. An operator makes clients: have the operator secret, or sign in by login --organization.",
  ],
  examples: ["init", "init notes --kind browser --install", "init worker --kind machine --tenant acme --yes"],
  changes: true,
  async run(invocation) {
    const { io, options, target, about } = invocation;
    if (!mayBeWritten(io.cwd))
      throw new UserError(`${ENV_FILE} is no file, so it cannot be written. Nothing was made.`);
    const framework = detectFramework(io.cwd);
    if (framework !== undefined) io.err(`This is a folder of ${framework.title}.\n`);
    const kind = await chooseKind(invocation, framework);
    const tenant = options.value("tenant") ?? (isLoopback(new URL(target.base)) ? DEMO_TENANT : undefined);
    if (tenant === undefined) throw new UsageError("Say which tenant the application belongs to: --tenant <tenant>");
    const name = invocation.args["name"] ?? (await chooseName(invocation));
    const id = `${tenant}.${name}`;
    const client = await invocation.client();
    const taken = (): UserError => {
      const isOurs = Object.values(readEnvFile(io.cwd)).includes(id);
      const what = isOurs
        ? `The .env of this folder is that of client ${clean(id)} already. For another application: npm run plat -- init <name>`
        : `There is a client ${clean(id)} already. Take another name: npm run plat -- init <name>. Or, if an init that was ` +
          `killed left it, remove it: npm run plat -- client delete ${clean(id)}`;
      return new UserError(inWordsOf(about, what));
    };
    if ((await find(ok(api.getClient(id, client.opts)))) !== undefined) throw taken();
    const secret = kind === "browser" ? undefined : randomBytes(32).toString("base64url");
    const values = valuesFor(kind, target.base, id, secret);
    await askConflicts(invocation, values);
    const body = clientFor(kind, { tenant, id, secret, client, invocation });
    await RESOURCES.clients.set(client, [id], body, undefined).catch((error: unknown) => {
      throw isOtherwise(error) ? taken() : error;
    });
    try {
      writeEnvFile(io.cwd, values);
    } catch (error) {
      await api.deleteClient(id, client.opts);
      throw new UserError(
        `${ENV_FILE} cannot be written (${(error as NodeJS.ErrnoException).code}); nothing was made.`,
      );
    }
    sayDone(io, `The ${kind} application ${id} was made.`);
    sayDone(io, `${Object.keys(values).join(", ")} are in ${ENV_FILE}.`);
    if (ignoreEnvFile(io.cwd)) sayDone(io, `${ENV_FILE} was added to .gitignore.`);
    await warnWithoutPackage(invocation, client, tenant);
    const snippet = snippetFor(framework, kind, sourcesOf(invocation));
    const isInstalled = await wantsInstall(invocation, snippet);
    if (isInstalled) await runInstall(snippet.install, io.cwd);
    if (options.has("json"))
      return printRecord(invocation, {
        client: id,
        kind,
        framework: framework?.id ?? null,
        env: Object.keys(values),
        snippet: { ...snippet, install: [shownInstall(snippet.install)] },
      });
    await io.out(shownSnippet(snippet, isInstalled, target.base, invocation));
  },
};

async function chooseKind({ io, options }: Invocation, framework: Framework | undefined): Promise<Kind> {
  const given = options.value("kind");
  const usual = framework?.kind ?? "machine";
  const answer =
    given ??
    (io.ask === undefined || options.has("yes")
      ? usual
      : (await io.ask(`What is it? ${KINDS.join(", ")} [${usual}] `)).trim().toLowerCase() || usual);
  const kind = KINDS.find((one) => one === answer);
  if (kind === undefined) throw new UsageError(`An application is ${KINDS.join(", ")}, not ${answer}.`);
  return kind;
}

async function chooseName({ io, options }: Invocation): Promise<string> {
  const usual = nameFrom(basename(io.cwd));
  if (io.ask === undefined || options.has("yes")) return usual;
  return (await io.ask(`What is it called? [${usual}] `)).trim() || usual;
}

async function wantsInstall({ io, options }: Invocation, { install }: Snippet): Promise<boolean> {
  if (options.has("install")) return true;
  if (io.ask === undefined || options.has("yes") || options.has("json")) return false;
  return !/^n(o)?$/i.test((await io.ask(`Run ${shownInstall(install)} now? [Y/n] `)).trim());
}

/** A folder's name in the form of a client's name: small letters, digits and dashes. */
function nameFrom(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 24)
    .replace(/-+$/, "");
  return name.length >= 2 ? name : "my-app";
}

/** The variables of `.env`. Bundlers such as Vite show a page only variables with their own prefix. */
const valuesFor = (kind: Kind, url: string, id: string, secret: string | undefined): Values => ({
  PLINTH_URL: url,
  PLINTH_CLIENT_ID: id,
  ...(secret !== undefined && { PLINTH_CLIENT_SECRET: secret }),
  ...(kind === "browser" && { VITE_PLINTH_URL: url, VITE_PLINTH_CLIENT_ID: id }),
});

async function askConflicts(invocation: Invocation, values: Values): Promise<void> {
  const { io, options } = invocation;
  const conflicts = findConflicts(io.cwd, values);
  if (conflicts.length === 0 || options.has("yes")) return;
  const question = `${ENV_FILE} has another ${conflicts.join(", ")}. Overwrite?`;
  if (io.ask === undefined) throw new UsageError(`${question} Nobody can be asked here: say --yes.`);
  if (!/^y(es)?$/i.test((await io.ask(`${question} [y/N] `)).trim())) throw new UserError("Nothing was made.");
}

interface Wanted {
  readonly tenant: string;
  readonly id: string;
  readonly secret: string | undefined;
  readonly client: OperatorClient;
  readonly invocation: Invocation;
}

function clientFor(kind: Kind, { tenant, secret, client, invocation: { options } }: Wanted) {
  const given = options.values("redirect-uri");
  // Addresses of this machine may have any port.
  const here = ["localhost", "127.0.0.1"].map((host) => `http://${host}/callback`);
  const redirectUris = kind === "machine" ? [] : given.length > 0 ? [...given] : here;
  const scopes = options.values("scope");
  const usual = kind === "browser" ? ["pubsub.own_tenant_topic=*"] : ["pubsub_publish", "media_view", "media_manage"];
  return {
    tenant,
    confidential: secret !== undefined,
    ...(secret !== undefined && { clientSecret: secret }),
    redirectUris,
    postLogoutRedirectUris: redirectUris,
    grantTypes: [
      ...(kind === "browser" ? [] : ["client_credentials" as const]),
      ...(kind === "machine" ? [] : ["authorization_code" as const, "refresh_token" as const]),
    ],
    scopes: scopes.length > 0 ? [...scopes] : usual.map((scope) => `${client.platform}.${scope}`),
    requirePkce: kind !== "machine",
  };
}

/** Warns if the tenant lacks the package `platform`: without it, topics and files are refused. */
async function warnWithoutPackage({ io, about }: Invocation, { opts }: OperatorClient, tenant: string): Promise<void> {
  const subscription = await find(ok(api.getSubscription(tenant, "platform", opts))).catch(() => null);
  if (subscription !== undefined) return;
  const line = `npm run plat -- tenant subscribe ${tenant} platform`;
  io.err(
    inWordsOf(about, `${io.paintErr.yellow("!")} The tenant ${tenant} may not use topics and files yet: ${line}\n`),
  );
}

/** The sources of the SDK packages. A checkout of Plinth has them, so that no registry is needed. */
function sourcesOf({ about: { root }, io }: Invocation) {
  const from = (folder: string, name: string): string =>
    root === undefined ? name : relative(io.cwd, join(root, "packages", folder)) || ".";
  return { folder: io.cwd, sdk: from("sdk", "@plinth/sdk"), python: from("python", "plinth-sdk") };
}

function shownSnippet(
  { install, file, code, run, page }: Snippet,
  isInstalled: boolean,
  base: string,
  { io }: Invocation,
): string {
  const steps = [
    ...(isInstalled ? [] : [{ title: "Install", text: `  ${shownInstall(install)}\n` }]),
    { title: file, text: code },
    { title: "Run", text: `  ${run}\n` },
  ];
  const shown = steps.map(({ title, text }, at) => `\n${io.paint.bold(`${at + 1}. ${title}`)}\n\n${text}`);
  return [...shown, `\nMore: ${base}/docs/${page}\n`].join("");
}
