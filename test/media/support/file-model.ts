import { Buffer } from "node:buffer";
import { LIMITS } from "../../../src/media/model/limits.ts";

/**
 * The model of the media service: files, deletions and time, as clients know them, without rows, keys, messages and
 * caches. `answer` returns the answer that a call must get, and moves the model to the state after it.
 */
export interface World {
  nowMs: number;
  readonly uploads: UploadWay;
  /** Every file whose creation was answered, removed ones included, oldest first. */
  readonly files: ModelFile[];
  readonly erasures: ModelErasure[];
}

export interface ModelFile {
  /** Empty until a look shows it, if the answer was lost to a request that stored a file at once. */
  readonly id: string;
  readonly client: string;
  readonly visibility: Visibility;
  readonly type: string;
  readonly createdAt: number;
  /** False: it was stored at once. */
  readonly hasLink: boolean;
  state: "pending" | "committed" | "removed";
  /** The index of the uploaded content. */
  upload: number | undefined;
  tenant: string;
  committedAt: number;
  metadata: number;
  /** The body of the commit: repeating it is no other commit. */
  commit: { readonly tenant: string; readonly metadata: number; readonly shared: boolean } | undefined;
  variants: Record<string, VariantState>;
  /** By variant (empty: the master): when the latest link to it was given. */
  readonly links: Record<string, number>;
  /** By variant: when content was removed by a deletion without an answer. */
  readonly quietly: Record<string, number>;
}

export type Visibility = "private" | "public";

/** Through the Worker, or by a presigned link to the bucket. */
export type UploadWay = "worker" | "r2";

type VariantState = "declared" | "pending" | "ready" | "failed";

interface ModelErasure {
  /** Undefined if the answer was lost. */
  readonly id: string | undefined;
  readonly kind: "file" | "query" | "all";
  readonly client: string;
  readonly tenant: string;
  readonly visibility: Visibility;
  readonly files: number;
  readonly bytes: number;
}

export interface Caller {
  readonly client: string;
  /** The client's own tenant. */
  readonly home: string;
  readonly tenant: string;
  readonly tenantExplicit: boolean;
  readonly reaches: readonly string[];
}

/** A service's client, the same with a token for one tenant, and another client, all with files in the same tenants. */
export const CALLERS: readonly [Caller, ...Caller[]] = [
  { client: "a", home: "acme", tenant: "acme", tenantExplicit: false, reaches: ["acme", "globex"] },
  { client: "a", home: "acme", tenant: "globex", tenantExplicit: true, reaches: ["globex"] },
  { client: "b", home: "acme", tenant: "acme", tenantExplicit: false, reaches: ["acme"] },
];

export const TENANTS = ["acme", "globex", "initech"] as const;

export const METADATA: readonly Record<string, unknown>[] = [
  {},
  { color: "red", price: 9 },
  { color: "blue", price: "9" },
  { color: ["red", "blue"], price: 10 },
  { a: { b: true }, price: [9.5, 2], color: "\u{1F308}" },
  { "a.b": "true", color: "\uFFFD" },
  { price: -1, a: { b: [{ c: "red" }, null] } },
];

/** Sizes of the contents in bytes; some are images. */
export interface Content {
  readonly bytes: number;
  readonly isImage: boolean;
}

/** A client's request; `by` is the caller. */
export type Call = { readonly by: number } & (
  | {
      readonly do: "create";
      readonly visibility: Visibility;
      readonly type: string;
      readonly variants: readonly string[];
    }
  | ({ readonly do: "store" } & StoredAtOnce)
  | (OnFile &
      (
        | {
            readonly do: "put";
            readonly content: number;
            readonly how: "right" | "no length" | "wrong type" | "broken off";
          }
        | {
            readonly do: "commit";
            readonly tenant: string | undefined;
            readonly metadata: number;
            readonly shared: boolean;
          }
        | { readonly do: "describe"; readonly metadata: number }
        | { readonly do: "delete" }
        | { readonly do: "read metadata" | "list variants" }
        | { readonly do: "add variants" | "delete variants"; readonly variants: readonly string[] }
        | {
            readonly do: "fetch";
            readonly variant: string;
            readonly fallback: boolean;
            readonly tenant: string | undefined;
          }
        | { readonly do: "content"; readonly variant: string; readonly signed: boolean }
      ))
  | (OnFiles & ({ readonly do: "delete all" } | ({ readonly do: "delete by query" } & { readonly q: string })))
  | (OnFiles & { readonly do: "list"; readonly of: Whose } & Listing)
  | (OnFiles & { readonly do: "bulk add" | "bulk delete"; readonly variants: readonly string[] } & Listing)
  | { readonly do: "report"; readonly erasure: string }
);

/** A creation with the bytes and the commit. */
export interface StoredAtOnce {
  readonly visibility: Visibility;
  readonly type: string;
  readonly variants: readonly string[];
  readonly content: number;
  readonly tenant: string | undefined;
  readonly metadata: number;
  readonly shared: boolean;
}

/** The caller's own files, or shared ones: of all clients, or of one. */
export type Whose = "own" | "all" | "a" | "b";

export interface Listing {
  /** Empty: all. */
  readonly q: string;
  readonly types: readonly string[];
  /** Name and direction; no name means the content type. */
  readonly sort: readonly (readonly [name: string, direction: "asc" | "desc"])[];
  readonly pageSize: number;
  readonly pageNumber: number;
}

interface OnFile {
  readonly file: string;
  /** The visibility in the path: the file's, or the other one. */
  readonly visibility: Visibility;
}

interface OnFiles {
  readonly visibility: Visibility;
  readonly tenant: string;
}

export interface Answer {
  readonly status: number;
  /** The client's view beyond files. */
  readonly says?: unknown;
  /** Values that the service chose: the id of a new file or report. */
  readonly id?: string | undefined;
}

/** Nothing is known of a lost answer. */
export const NO_ANSWER = 503;

const CHANGES = /^(put|commit|store|describe|delete|add|bulk)/;

/** The call may have changed something without an answer. Files of a lost creation disturb nobody. */
export const mayHaveHappened = (call: Call): boolean => CHANGES.test(call.do);
/** The call may be refused for a moment while its tenant moves. */
export const isChange = (call: Call): boolean => call.do === "create" || mayHaveHappened(call);

export function answer(world: World, call: Call, seen: Answer, contents: readonly Content[]): Answer {
  const caller = CALLERS[call.by]!;
  switch (call.do) {
    case "create":
      return create(world, caller, call, seen);
    case "store":
      return store(world, caller, call, seen);
    case "delete all":
    case "delete by query":
      return deleteFiles(world, caller, call, seen, contents);
    case "list":
      return list(world, caller, call, contents);
    case "bulk add":
    case "bulk delete":
      return inBulk(world, caller, call, seen);
    case "report":
      return report(world, caller, call.erasure);
    default:
      return onFile(world, caller, call, seen, contents);
  }
}

/** Work that no client asked for. `spared`: files of a shard whose sweep failed. */
export function expirePending(world: World, spared: ReadonlySet<string> = new Set()): void {
  for (const file of world.files)
    if (file.state === "pending" && !spared.has(file.id) && file.createdAt + LIMITS.uncommittedTtlMs <= world.nowMs)
      file.state = "removed";
}

function create(world: World, caller: Caller, call: Call & { do: "create" }, seen: Answer): Answer {
  const { visibility, type, variants } = call;
  if (variants.length > 0 && !type.startsWith("image/")) return { status: 400 };
  const made = { client: caller.client, visibility, type, createdAt: world.nowMs, hasLink: true };
  const unknown = { tenant: "", committedAt: 0, metadata: 0, commit: undefined, links: {}, quietly: {} };
  const declared = Object.fromEntries(variants.map((name) => [name, "declared" as const]));
  const pending = { state: "pending", upload: undefined } as const;
  world.files.push({ id: seen.id ?? "", ...made, ...pending, ...unknown, variants: declared });
  return { status: 200 };
}

function store(world: World, caller: Caller, call: Call & { do: "store" }, seen: Answer): Answer {
  if (!caller.reaches.includes(call.tenant ?? caller.tenant)) return { status: 404 };
  create(world, caller, { ...call, do: "create" }, seen);
  const file = world.files.at(-1)!;
  Object.assign(file, { hasLink: false, upload: call.content });
  return commit(world, caller, file, { ...call, do: "commit", file: file.id });
}

function onFile(
  world: World,
  caller: Caller,
  call: Extract<Call, OnFile>,
  seen: Answer,
  contents: readonly Content[],
): Answer {
  const file = world.files.find(({ id }) => id === call.file)!;
  if (call.do === "put") return put(world, file, call);
  if (call.do === "content") return content(world, file, call);
  const isThere = file.state !== "removed" && file.visibility === call.visibility;
  if (call.do === "fetch") {
    const isReached = (file.client === caller.client && caller.reaches.includes(file.tenant)) || isShared(caller, file);
    const isReadable = isThere && file.state === "committed" && (isReached || call.visibility === "public");
    return isReadable ? fetch(world, file, call) : { status: 404 };
  }
  const isOwned = file.client === caller.client && (file.state === "pending" || caller.reaches.includes(file.tenant));
  const isUsable = isOwned || (call.do !== "commit" && isShared(caller, file));
  if (!isThere || !isUsable) return { status: 404 };
  if (call.do === "commit") return commit(world, caller, file, call);
  if (call.do === "delete") {
    const owner = { ...file, client: caller.client, tenant: file.tenant || caller.tenant };
    world.erasures.push(erasureOf("file", seen, [file], owner, contents));
    remove(world, file, seen);
    return { status: 204 };
  }
  if (file.state === "pending") return { status: 404 };
  switch (call.do) {
    case "describe":
      file.metadata = call.metadata;
      return { status: 200, says: METADATA[call.metadata] };
    case "read metadata":
      return { status: 200, says: METADATA[file.metadata] };
    case "list variants":
      return { status: 200, says: variantsOf(file) };
    case "add variants":
      if (!file.type.startsWith("image/")) return { status: 400 };
      addVariants(file, call.variants);
      return { status: 200, says: variantsOf(file) };
    case "delete variants":
      deleteVariants(world, file, call.variants.length === 0 ? Object.keys(file.variants) : call.variants, seen);
      return { status: 204 };
  }
}

/** A committed file that the caller's tenant shares; all callers hold all scopes. */
const isShared = (caller: Caller, { state, commit: said, tenant }: ModelFile): boolean =>
  state === "committed" && said?.shared === true && tenant === caller.tenant && caller.home === tenant;

/** The number of renditions that start. */
function addVariants(file: ModelFile, names: readonly string[]): number {
  const started = names.filter((name) => file.variants[name] === undefined || file.variants[name] === "failed");
  for (const name of started) file.variants[name] = "pending";
  return started.length;
}

function deleteVariants(world: World, file: ModelFile, names: readonly string[], seen: Answer): void {
  for (const name of names) {
    if (file.variants[name] === "ready") goQuietly(world, file, name, seen);
    delete file.variants[name];
  }
}

function put(world: World, file: ModelFile, { content: given, how }: Call & { do: "put" }): Answer {
  const endsAt = file.createdAt + LIMITS.uploadLinkTtlMs;
  if (world.uploads === "r2") {
    // The bucket knows no file: the link works until its end. Only a pending file takes what it brings.
    if (world.nowMs > endsAt || how === "wrong type") return { status: 403 };
    if (file.state === "pending") file.upload = given;
    return { status: 200, says: given };
  }
  if (world.nowMs >= endsAt) return { status: 403 };
  if (how === "wrong type") return { status: 415 };
  if (file.state === "removed") return { status: 404 };
  if (file.upload !== undefined) return { status: 409, says: "already_uploaded" };
  if (how === "broken off") return { status: 400 };
  file.upload = given;
  return { status: 200, says: given };
}

function commit(world: World, caller: Caller, file: ModelFile, call: Call & { do: "commit" }): Answer {
  const tenant = call.tenant ?? caller.tenant;
  if (!caller.reaches.includes(tenant)) return { status: 404 };
  if (file.commit !== undefined) {
    const isSame =
      file.commit.tenant === tenant && file.commit.metadata === call.metadata && file.commit.shared === call.shared;
    return isSame ? { status: 202 } : { status: 409, says: "already_committed" };
  }
  if (file.upload === undefined) return { status: 409, says: "file_not_uploaded" };
  const said = { tenant, metadata: call.metadata };
  const made = { ...said, shared: call.shared };
  Object.assign(file, { state: "committed", committedAt: world.nowMs, commit: made, ...said });
  for (const name of Object.keys(file.variants)) file.variants[name] = "pending";
  return { status: 202 };
}

function fetch(world: World, file: ModelFile, { variant, fallback, tenant }: Call & { do: "fetch" }): Answer {
  if (tenant !== undefined && tenant !== file.tenant) return { status: 404 };
  const isReady = variant === "" || file.variants[variant] === "ready";
  if (!isReady && !fallback) return { status: 404 };
  const found = isReady ? variant : "";
  file.links[found] = world.nowMs;
  return { status: file.visibility === "public" ? 302 : 200, says: found };
}

/** A signed link tells its own end. */
function content(world: World, file: ModelFile, { variant, signed }: Call & { do: "content" }): Answer {
  if (signed && world.nowMs >= toSec(file.links[variant] ?? 0) + LIMITS.contentLinkTtlMs) return { status: 403 };
  const isThere = file.state === "committed" && (variant === "" || file.variants[variant] === "ready");
  if (!isThere || (!signed && file.visibility === "private")) return { status: 404 };
  return { status: 200, says: variant === "" ? file.upload : variant };
}

const toSec = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** Deleted public content may be visible for five more minutes if the deletion was not answered. */
export const mayLinger = (world: World, call: Call, seen: Answer): boolean => {
  if (call.do !== "content" || call.signed || seen.status !== 200) return false;
  const file = world.files.find(({ id }) => id === call.file)!;
  const since = file.quietly[call.variant];
  return since !== undefined && file.visibility === "public" && world.nowMs < since + LIMITS.publicMaxAgeSec * 1000;
};

function deleteFiles(
  world: World,
  caller: Caller,
  call: Call & { do: "delete all" | "delete by query" },
  seen: Answer,
  contents: readonly Content[],
): Answer {
  const { visibility, tenant } = call;
  if (!caller.reaches.includes(tenant)) return { status: 404 };
  const owner = { client: caller.client, visibility, tenant };
  const matching = filesOf(world, owner).filter((file) => call.do === "delete all" || matches(file, termsOf(call.q)));
  const kind = call.do === "delete all" ? "all" : "query";
  world.erasures.push(erasureOf(kind, seen, matching, owner, contents));
  for (const file of matching) remove(world, file, seen);
  return { status: kind === "all" ? 202 : 204 };
}

function report(world: World, caller: Caller, id: string): Answer {
  const erasure = world.erasures.find((known) => known.id === id)!;
  const isReached = erasure.client === caller.client && caller.reaches.includes(erasure.tenant);
  const { kind, visibility, tenant, files, bytes } = erasure;
  return isReached ? { status: 200, says: { kind, visibility, tenant, files, bytes } } : { status: 404 };
}

const erasureOf = (
  kind: ModelErasure["kind"],
  { id }: Answer,
  files: readonly ModelFile[],
  { client, tenant, visibility }: Pick<ModelFile, "client" | "tenant" | "visibility">,
  contents: readonly Content[],
): ModelErasure => ({
  id,
  kind,
  client,
  tenant,
  visibility,
  files: files.length,
  bytes: files.reduce((sum, file) => sum + bytesOf(file, contents), 0),
});

/** Bytes count from the commit on. */
export const bytesOf = (file: ModelFile, contents: readonly Content[]): number =>
  file.state === "committed" ? (contents[file.upload!]?.bytes ?? 0) : 0;

function remove(world: World, file: ModelFile, seen: Answer): void {
  for (const name of ["", ...Object.keys(file.variants)]) goQuietly(world, file, name, seen);
  file.state = "removed";
}

function goQuietly(world: World, file: ModelFile, name: string, seen: Answer): void {
  if (seen.status === NO_ANSWER) file.quietly[name] = world.nowMs;
  else delete file.quietly[name];
}

/** By type and size, as the service lists them. */
export const variantsOf = (file: ModelFile): readonly string[] =>
  Object.entries(file.variants)
    .map(([name, state]) => `${name} ${state}`)
    .sort();

function list(world: World, caller: Caller, call: Call & { do: "list" }, contents: readonly Content[]): Answer {
  const isNarrowed = call.q !== "" || call.types.length > 0 || call.sort.length > 0;
  if (call.of === "all" && isNarrowed) return { status: 400 };
  if (!caller.reaches.includes(call.tenant)) return { status: 404 };
  const { page, hasNext } = pageOf(world, caller, call);
  const recorded = page.map((file) => ({
    ...recordOf(file, contents),
    ...(call.of === "own" ? {} : { client: file.client, shared: "tenant" }),
  }));
  return { status: 200, says: { files: recorded, hasNext } };
}

/** Only images have variants. */
function inBulk(world: World, caller: Caller, call: Call & { do: "bulk add" | "bulk delete" }, seen: Answer): Answer {
  if (call.pageSize * call.variants.length > 100) return { status: 400 };
  if (!caller.reaches.includes(call.tenant)) return { status: 404 };
  const isOfImages = call.types.length === 0 || call.types.includes("image/png");
  const { page, hasNext } = isOfImages
    ? pageOf(world, caller, { ...call, types: ["image/png"] })
    : { page: [], hasNext: false };
  if (call.do === "bulk delete") {
    for (const file of page) deleteVariants(world, file, call.variants, seen);
    return { status: 204, says: { hasNext } };
  }
  const transformations = page.reduce((started, file) => started + addVariants(file, call.variants), 0);
  return { status: 202, says: { files: page.length, transformations, hasNext } };
}

function pageOf(
  world: World,
  caller: Caller,
  call: Listing & OnFiles & { readonly of?: Whose },
): { readonly page: readonly ModelFile[]; readonly hasNext: boolean } {
  const { q, types, sort, pageSize, pageNumber } = call;
  const { of: whose = "own" } = call;
  const clients = whose === "own" ? [caller.client] : whose === "all" ? ["a", "b"] : [whose];
  const found = clients
    .flatMap((client) => filesOf(world, { ...call, client }))
    .filter((file) => whose === "own" || isShared(caller, file))
    .filter((file) => matches(file, termsOf(q)) && (types.length === 0 || types.includes(file.type)))
    .sort((a, b) => {
      for (const [name, direction] of sort) {
        const order = compare(leadOf(a, name), leadOf(b, name), direction);
        if (order !== 0) return order;
      }
      return a.id < b.id ? -1 : 1;
    });
  const end = pageNumber * pageSize;
  return { page: found.slice(end - pageSize, end), hasNext: found.length > end };
}

const recordOf = (file: ModelFile, contents: readonly Content[]): object => ({
  id: file.id,
  type: file.type,
  size: contents[file.upload!]!.bytes,
  content: file.upload,
  tenant: file.tenant,
  times: [file.createdAt, file.committedAt],
  metadata: METADATA[file.metadata],
  variants: variantsOf(file),
});

type Value = string | number;

/** A file sorts by the first value of an attribute. */
const leadOf = (file: ModelFile, name: string): Value | undefined =>
  name === "" ? file.type : pairsOf(METADATA[file.metadata]).find(([path]) => path === `.${name}`)?.[1];

/** Numbers before texts, texts by characters, no value last in either direction. */
function compare(a: Value | undefined, b: Value | undefined, direction: "asc" | "desc"): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const order =
    typeof a !== typeof b
      ? typeof a === "number"
        ? -1
        : 1
      : typeof a === "number"
        ? a - Number(b)
        : Buffer.from(a).compare(Buffer.from(String(b)));
  return direction === "desc" ? -order : order;
}

/** The committed files of an owner, by id. */
export const filesOf = (world: World, owner: Pick<ModelFile, "client" | "tenant" | "visibility">): ModelFile[] =>
  world.files
    .filter(
      ({ state, client, tenant, visibility }) =>
        state === "committed" && client === owner.client && tenant === owner.tenant && visibility === owner.visibility,
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));

/** `key:value`, separated by spaces. */
const termsOf = (q: string): readonly (readonly string[])[] =>
  q.split(" ").flatMap((term) => (term === "" ? [] : [term.split(":")]));

const matches = (file: ModelFile, terms: readonly (readonly string[])[]): boolean => {
  const pairs = pairsOf(METADATA[file.metadata]);
  return terms.every(([key, text]) => pairs.some(([path, value]) => path === `.${key}` && String(value) === text));
};

/** All indexed pairs of metadata, each once; keys are paths with a dot before each part. */
export function pairsOf(value: unknown): readonly (readonly [string, string | number])[] {
  const pairs = allPairs(value, "");
  return [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).values()];
}

function allPairs(value: unknown, path: string): (readonly [string, string | number])[] {
  if (Array.isArray(value)) return value.flatMap((element) => allPairs(element, path));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, member]) => allPairs(member, `${path}.${name}`));
  if (value === null) return [];
  return [[path, typeof value === "boolean" ? String(value) : (value as string | number)]];
}
