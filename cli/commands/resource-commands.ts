import { pagedListCommand, showCommand } from "../command-line/patterns.ts";
import { randomBytes } from "node:crypto";
import { isOtherwise } from "../client/admin-client.ts";
import { buildBody, changedFields, fieldOptions, missingFlags, readBodyFile, readSecrets } from "../resources/body.ts";
import type { Command, Invocation, Option } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { Resource } from "../resources/resource.ts";
import { RESOURCES } from "../resources/all.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { inWordsOf } from "../terminal/about.ts";
import { clean, pluralOf, type Body } from "../terminal/values.ts";
import { warnOfUnknownScopes } from "./unknown-scopes.ts";

/** Builds list, show, set and delete for every resource. */
export const resourceCommands = (): Command[] =>
  Object.values(RESOURCES).flatMap((resource) => [
    listOf(resource),
    showOf(resource),
    setCommand(resource),
    removeCommand(resource),
  ]);

const lineOf = ({ word, verbs, keys }: Resource, verb: keyof Resource["verbs"], except = 0): string =>
  [word, verbs[verb], ...keys.slice(0, keys.length - except).map(({ name }) => exampleOf(name))].join(" ");
const exampleOf = (key: string): string =>
  ({ email: "ada@acme.example", tenant: "acmeshop", client: "acme.shop", package: "catalog", service: "catalog" })[
    key
  ] ??
  { organization: "acme", role: "editor", provider: "corp" }[key] ??
  key;

const keysOf = ({ keys }: Resource, { args }: Invocation): string[] => keys.map(({ name }) => args[name] ?? "");
/** `tenant acme`, `tenant member ada@acme.example of acme`. */
const nameOf = (resource: Resource, invocation: Invocation): string => {
  const values = keysOf(resource, invocation);
  const owner = values.length > 1 ? ` of ${values[0]}` : "";
  return clean(`${resource.noun} ${values.at(-1)}${owner}`);
};

const SEARCH_OPTIONS: readonly Option[] = [
  { flag: "query", value: "<text>", help: "only those whose id or name begins so" },
  { flag: "disabled", help: "only those that are disabled" },
];
const TENANT_OPTION: Option = { flag: "tenant", value: "<id>", help: "only those of this tenant" };

/** Keeps the disabled rows. The service has no such filter, so all rows are read. */
async function* disabledOf<Row extends object>(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
  for await (const row of rows) if ("disabled" in row && row.disabled === true) yield row;
}

const listOf = (resource: Resource): Command => {
  const { noun, word, verbs, keys } = resource;
  return pagedListCommand({
    words: [word, verbs.list],
    summary:
      keys.length === 1 ? `List every ${noun}.` : `List the ${pluralOf(noun)} of ${article(keys[0]?.name ?? "")}.`,
    args: keys.slice(0, -1),
    filters: [
      ...(resource.searched === true ? SEARCH_OPTIONS : []),
      ...(resource.byTenant === true ? [TENANT_OPTION] : []),
    ],
    examples: [
      ...(resource.examples.list ?? [lineOf(resource, "list", 1)]),
      `${lineOf(resource, "list", 1)} --limit 20 --json`,
      ...(resource.searched === true ? [`${lineOf(resource, "list", 1)} --query ac`] : []),
      ...(resource.byTenant === true ? [`${lineOf(resource, "list", 1)} --tenant acme --disabled`] : []),
    ],
    columns: resource.columns,
    nouns: pluralOf(noun),
    rows(invocation) {
      const { options } = invocation;
      const owner = keysOf(resource, invocation).slice(0, -1);
      const search = { q: options.value("query"), tenant: options.value("tenant") };
      return (client, page) => {
        const rows = resource.list(client, owner, { ...search, ...page });
        return options.has("disabled") ? disabledOf(rows) : rows;
      };
    },
  });
};

const showOf = (resource: Resource): Command =>
  showCommand({
    words: [resource.word, resource.verbs.show],
    summary: `Show one ${resource.noun}. What is secret is never shown.`,
    args: resource.keys,
    examples: [lineOf(resource, "show"), `${lineOf(resource, "show")} --json`],
    read: (client, ...values) => resource.show(client, values),
  });

const SET_NOTES = [
  "Omitted fields keep their values: the command reads the stored record, applies the file, then the " +
    "flags, and writes the result. If somebody else changed the record meanwhile, it begins again with " +
    "that record. So of two changes of the same field, the later one wins; others stay.",
  "A secret is never an argument, because other users can list arguments and shells store them. Pass it " +
    "in a file (- is the standard input; at a terminal you are asked) or in an environment variable.",
];

const setCommand = (resource: Resource): Command => {
  const { fields, word, verbs, noun, notes } = resource;
  const hasSecret = fields.some(({ type }) => type === "secret");
  const fileOptions: readonly Option[] = [
    { flag: "file", value: "<file|->", help: "fields as a JSON object, as `show --json` prints it" },
    {
      flag: "replace",
      help: "start from an empty record instead of the stored one (secrets, disabled, quotas, protections and bindings stay)",
    },
  ];
  const isBare = fields.length === 0;
  return {
    words: [word, verbs.set],
    summary: isBare ? `Make a ${noun}; one that is there stays as it is.` : `Make ${article(noun)}, or change it.`,
    args: resource.keys,
    options: isBare ? [] : [...fieldOptions(fields), ...fileOptions],
    notes: isBare ? [] : [...(notes === undefined ? [] : [notes]), ...SET_NOTES.slice(0, hasSecret ? 2 : 1)],
    examples: resource.examples.set ?? [],
    changes: true,
    run: (invocation) => set(resource, invocation),
  };
};

/** A record that others change all the time is given up. */
const ATTEMPTS = 3;

/**
 * read ──▶ written on condition that it is as read ──▶ shown
 *  ▲                     │ 412: changed meanwhile
 *  └─────────────────────┘
 */
async function set(resource: Resource, invocation: Invocation): Promise<void> {
  const { options, io, input, about } = invocation;
  const { fields, noun } = resource;
  const source = options.value("file");
  const called = source === "-" ? "The standard input" : (source ?? "");
  const file = source === undefined ? {} : readBodyFile(await input.read(source, "--file"), called, resource);
  const given = await readSecrets(fields, options, input);
  const client = await invocation.client();
  const keys = keysOf(resource, invocation);
  const name = nameOf(resource, invocation);
  let hasSentSecret = false;
  for (let attempt = 1; ; attempt++) {
    const found = await resource.find(client, keys);
    const body = buildBody(resource, options.has("replace") ? undefined : found?.record, file, options, given);
    const missing = missingFlags(fields, body, found === undefined);
    if (missing.length > 0) {
      const why = found === undefined ? "is new" : "is replaced";
      throw new UsageError(`The ${name} ${why}, so these are needed too: ${missing.join(", ")}`);
    }
    const changed = changedFields(fields, found?.record ?? {}, body);
    if (found !== undefined && changed.length === 0) {
      sayDone(io, `The ${name} is like that already${hasSentSecret ? "" : "; nothing was sent"}.`);
      // The platform may have stored it and lost that answer, or somebody else made the same.
      if (hasSentSecret)
        io.err(
          inWordsOf(about, `If you do not know its secret: npm run plat -- client new-secret ${clean(keys[0]!)}\n`),
        );
      return printRecord(invocation, found.record);
    }
    const becomesConfidential = found?.record["confidential"] !== true && body["confidential"] === true;
    // The secret is made here, so that a retry after a lost answer sends the same one.
    const made =
      noun === "client" && becomesConfidential && !("clientSecret" in body)
        ? { clientSecret: randomBytes(32).toString("base64url") }
        : {};
    let answer: Body;
    try {
      answer = { ...(await resource.set(client, keys, { ...body, ...made }, found)), ...made };
    } catch (error) {
      if (!isOtherwise(error) || attempt === ATTEMPTS) throw error;
      hasSentSecret ||= "clientSecret" in made;
      continue;
    }
    sayDone(io, `The ${name} was ${found === undefined ? "made" : `changed: ${changed.join(", ")}`}.`);
    if ("clientSecret" in answer && noun === "client") sayDone(io, "clientSecret is shown this once: keep it.");
    // Those of a provider are known there.
    if (changed.includes("scopes") && resource !== RESOURCES.identityProviders)
      await warnOfUnknownScopes(client, (body["scopes"] ?? []) as readonly string[], io);
    return printRecord(invocation, answer);
  }
}

const removeCommand = (resource: Resource): Command => ({
  words: [resource.word, resource.verbs.remove],
  summary: `Remove ${article(resource.noun)}. ${resource.removal}`,
  args: resource.keys,
  options: [YES_OPTION],
  notes: ["Something in use is not removed; the refusal lists its users."],
  changes: true,
  examples: [...(resource.examples.remove ?? [lineOf(resource, "remove")]), `${lineOf(resource, "remove")} --yes`],
  async run(invocation) {
    const name = nameOf(resource, invocation);
    await confirm(invocation, `Remove the ${name}? ${resource.removal}`);
    await resource.remove(await invocation.client(), keysOf(resource, invocation));
    sayDone(invocation.io, `The ${name} was removed.`);
  },
});

const article = (noun: string): string => `${/^[aeio]/.test(noun) ? "an" : "a"} ${noun}`;
