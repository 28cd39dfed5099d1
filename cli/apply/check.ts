import { keyOf, KIND, normalize, type Fields, type KindName, type Wanted } from "./kinds.ts";
import { didYouMean } from "../terminal/nearest.ts";
import type { Mistake, Place } from "./mistake.ts";
import type { Fault } from "../../src/admin/model/rules.ts";
import type { Rules, Shape } from "./rules.ts";
import { nameOf, nodeAt, toPlain, type Entry, type Mapping, type Tree } from "./tree.ts";

/** The file's contents, checked as far as possible without the platform's records. */
export interface Description {
  /** Items without mistakes. */
  readonly wanted: readonly Wanted[];
  /** Items with a mistake. Of their fields, only a unique one is kept, if it is valid. */
  readonly flawed: readonly Wanted[];
  /** References of all items, so that one run finds every mistake. */
  readonly references: readonly Reference[];
  /** All keys of a kind in the file, so that a reference to a flawed item is not a second mistake. */
  readonly named: ReadonlyMap<KindName, ReadonlySet<string>>;
  /** Collections in the file, by `kind` or `kind owner`; `--prune` removes their other records. */
  readonly described: ReadonlyMap<string, Place>;
  readonly mistakes: readonly Mistake[];
}

export interface Reference {
  /** The item that refers. */
  readonly by: KindName;
  readonly to: KindName;
  readonly id: string;
  readonly place: Place;
}

/** Sections of the file and their kinds. Some contain members or subscriptions. */
const SECTIONS: Readonly<
  Record<string, { readonly kind: KindName; readonly inside: Readonly<Record<string, KindName>> }>
> = {
  organizations: { kind: "organizations", inside: { members: "organizationMembers" } },
  tenants: { kind: "tenants", inside: { subscriptions: "subscriptions", members: "tenantMembers" } },
  services: { kind: "services", inside: {} },
  packages: { kind: "packages", inside: {} },
  roles: { kind: "roles", inside: {} },
  users: { kind: "users", inside: { identities: "linkedIdentities" } },
  clients: { kind: "clients", inside: {} },
  identityProviders: { kind: "identityProviders", inside: {} },
};

/** A placeholder for a secret from a variable. It passes every rule. */
const ANY_SECRET = "any-secret-that-keeps-every-rule-1";
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The name of a described collection. */
export const collectionOf = (kind: KindName, owner: string): string => (owner === "" ? kind : `${kind} ${owner}`);

export function check(root: Mapping, rules: Rules): Description {
  const wanted: Wanted[] = [];
  const flawed: Wanted[] = [];
  const references: Reference[] = [];
  const named = new Map<KindName, Set<string>>();
  const described = new Map<string, Place>();
  const mistakes: Mistake[] = [];
  const refuse = (place: Place, reason: string): void => void mistakes.push({ place, reason });

  for (const { key, keyPlace, value } of root.entries.values()) {
    const section = SECTIONS[key];
    if (section === undefined || !Object.hasOwn(SECTIONS, key)) {
      refuse(keyPlace, `"${key}" is nothing that can be described.${didYouMean(key, Object.keys(SECTIONS))}`);
      continue;
    }
    if (value.type !== "mapping") {
      refuse(value.place, `${key} must be a mapping from ids to what they are, not ${nameOf(value)}.`);
      continue;
    }
    described.set(section.kind, keyPlace);
    for (const entry of value.entries.values()) checkEntry(section.kind, entry, section.inside);
  }
  return { wanted, flawed, references, named, described, mistakes };

  function checkEntry(kind: KindName, entry: Entry, inside: Readonly<Record<string, KindName>>): void {
    const { value, keyPlace } = entry;
    const id = name(kind, "", entry.key, keyPlace);
    if (value.type !== "mapping") {
      refuse(
        value.place,
        `${entry.key} must be a mapping of its fields, not ${nameOf(value)}${value.type === "leaf" && value.value === null ? ": {} stands for none" : ""}.`,
      );
      return;
    }
    const own = new Map(value.entries);
    for (const [field, nested] of Object.entries(inside)) {
      const collection = own.get(field);
      if (!own.delete(field) || collection === undefined) continue;
      described.set(collectionOf(nested, id ?? entry.key), collection.keyPlace);
      if (nested === "subscriptions") checkSubscriptions(id ?? entry.key, collection.value);
      else checkNamed(nested, field, id ?? entry.key, collection.value);
    }
    checkFields(kind, "", id, keyPlace, { ...value, entries: own }, Object.keys(inside));
  }

  function checkSubscriptions(owner: string, list: Tree): void {
    if (list.type !== "sequence")
      return refuse(list.place, `subscriptions must be a list of packages, not ${nameOf(list)}.`);
    for (const item of list.items) {
      if (item.type !== "leaf" || typeof item.value !== "string") {
        refuse(item.place, `a subscription must be the id of a package, not ${nameOf(item)}.${quoted(item)}`);
        continue;
      }
      const id = name("subscriptions", owner, item.value, item.place);
      checkFields("subscriptions", owner, id, item.place, {
        type: "mapping",
        place: item.place,
        entries: new Map(),
      });
    }
  }

  /** The only field of a kind that is written as a plain value. */
  function checkNamed(kind: KindName, section: string, owner: string, collection: Tree): void {
    const { field, meant } =
      kind === "linkedIdentities"
        ? { field: "subject", meant: "identity providers to the accounts there" }
        : { field: "roles", meant: "users to lists of roles" };
    if (collection.type !== "mapping")
      return refuse(collection.place, `${section} must be a mapping from ${meant}, not ${nameOf(collection)}.`);
    for (const { key, keyPlace, value } of collection.entries.values()) {
      const id = name(kind, owner, key, keyPlace);
      checkFields(kind, owner, id, keyPlace, {
        type: "mapping",
        place: keyPlace,
        entries: new Map([[field, { key: field, keyPlace, value }]]),
      });
    }
  }

  /** Checks an id; undefined if it is invalid, or repeats another one in a different spelling. */
  function name(kind: KindName, owner: string, text: string, place: Place): string | undefined {
    const read = rules.id(kind, text);
    if (!read.ok) refuse(place, read.reason);
    const key = keyOf({ owner, id: read.ok ? read.id : text });
    const names = named.get(kind) ?? new Set();
    named.set(kind, names);
    if (read.ok && names.has(key)) {
      refuse(place, `"${text}" is here for the second time.`);
      return undefined;
    }
    names.add(key);
    return read.ok ? read.id : undefined;
  }

  function checkFields(
    kind: KindName,
    owner: string,
    id: string | undefined,
    place: Place,
    tree: Mapping,
    inside: readonly string[] = [],
  ): void {
    const before = mistakes.length;
    refuseUnknown(tree, rules.shape(kind), inside);
    const secretFrom = readSecret(kind, tree);
    const plain = toPlain(tree) as Record<string, unknown>;
    const { secret } = KIND[kind];
    if (secret !== undefined && plain[secret] !== undefined) plain[secret] = ANY_SECRET;
    const at = (field: string): Place => {
      const node = nodeAt(tree, field);
      return field === "owner" || field === "id" || node === tree ? place : node.place;
    };
    const { fields, faults } = rules.body(kind, id, plain);
    for (const { field, message } of faults) refuse(at(field), `${message}${quoted(nodeAt(tree, field), message)}`);
    takeReferences(kind, id, plain, at);
    if (id === undefined) return;
    const item = { kind, owner, id, place, at, ...(secretFrom !== undefined && { secretFrom }) };
    if (fields !== undefined && mistakes.length === before)
      wanted.push({ ...item, fields: normalize(withDefaults(kind, id, fields)) });
    else flawed.push({ ...item, fields: uniqueOf(kind, id, plain, faults) });
  }

  /** An invalid id is reported as a mistake of its field. */
  function takeReferences(kind: KindName, id: string | undefined, fields: Fields, at: Wanted["at"]): void {
    for (const { from, to } of KIND[kind].references) {
      if (from === "owner") continue;
      const value = from === "id" ? id : fields[from];
      const values = Array.isArray(value)
        ? value.map((one: unknown, index) => [one, `${from}[${index}]`] as const)
        : [[value, from] as const];
      for (const [one, field] of values)
        if (typeof one === "string" && rules.isId(to, one))
          references.push({ by: kind, to, id: one, place: at(field) });
    }
  }

  function refuseUnknown(tree: Mapping, shape: Shape, inside: readonly string[]): void {
    const known = [...Object.keys(shape), ...inside];
    for (const { key, keyPlace, value } of tree.entries.values()) {
      const nested = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (!known.includes(key))
        refuse(
          keyPlace,
          `there is no field "${key}" here.${didYouMean(key, known) || ` There are ${known.join(", ")}.`}`,
        );
      else if (nested !== undefined && value.type === "mapping") refuseUnknown(value, nested, []);
    }
  }

  function readSecret(kind: KindName, tree: Mapping): Wanted["secretFrom"] {
    const { secret } = KIND[kind];
    const entry = secret === undefined ? undefined : tree.entries.get(secret);
    if (entry === undefined) return undefined;
    const { value, key } = entry;
    const variable = value.type === "mapping" && value.entries.size === 1 ? value.entries.get("env")?.value : undefined;
    if (variable?.type === "leaf" && typeof variable.value === "string" && VARIABLE.test(variable.value))
      return { variable: variable.value, place: variable.place };
    // The text may be a secret, so it is not repeated.
    refuse(
      value.place,
      `a secret is not written here: put it into a variable of the environment and write ${key}: { env: NAME }.`,
    );
    return undefined;
  }
}

/** Corrects types that YAML guessed wrong: version: 1.0 as a number, essential: no as a text. */
function quoted(node: Tree, message = "must be a string"): string {
  if (node.type !== "leaf") return "";
  const { value, source } = node;
  if (message.includes("must be a boolean") && typeof value === "string" && /^(yes|no|on|off)$/i.test(value))
    return ` Write ${/^(yes|on)$/i.test(value) ? "true" : "false"}.`;
  if (typeof value === "string" || !message.includes("must be a string")) return "";
  if (value === null) return " Nothing is written here.";
  return ` ${source} is a ${typeof value === "boolean" ? "flag" : "number"} to YAML: write "${source}" for a text.`;
}

/** The unique field of the kind, if it is valid. */
function uniqueOf(kind: KindName, id: string, fields: Fields, faults: readonly Fault[]): Fields {
  const { unique } = KIND[kind];
  if (unique === undefined || faults.some(({ field }) => field === unique)) return {};
  const value = withDefaults(kind, id, fields)[unique];
  return typeof value === "string" ? { [unique]: value } : {};
}

/** Defaults that the service derives from the id. */
function withDefaults(kind: KindName, id: string, fields: Fields): Fields {
  const { secret } = KIND[kind];
  const shown = Object.fromEntries(Object.entries(fields).filter(([name]) => name !== secret));
  return (kind === "users" || kind === "clients") && shown["name"] === undefined ? { ...shown, name: id } : shown;
}
