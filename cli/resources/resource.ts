import type { Column } from "../terminal/table.ts";
import type { Field, Key } from "./fields.ts";
import { clearable, texts, required, text } from "./fields.ts";
import type { Body } from "../terminal/values.ts";
import { ok, type ApiFunction } from "@oazapfts/runtime";
import { isDeepStrictEqual } from "node:util";
import { find as orNone, isOtherwise, rowsOf, type AdminClient, type Page } from "../client/admin-client.ts";

/**
 * A resource of the operator service: its operations, fields and table columns. The commands with their flags and
 * help, and the fields of an `apply` file, are derived from it. The service validates. `values` are the values of its
 * keys, in order.
 */
export interface Resource {
  /** The singular: `tenant`. */
  readonly noun: string;
  /** The first word of its commands. A nested resource has the word of its owner: `tenant`. */
  readonly word: string;
  /** The parts of its path. The last one identifies it within its collection. */
  readonly keys: readonly Key[];
  readonly summary: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column[];
  /** The names of its verbs. */
  readonly verbs: Verbs;
  /** The list can be searched. */
  readonly searched?: true;
  /** The list can be that of one tenant. */
  readonly byTenant?: true;
  /** Fields of the answer that a body does not have. */
  readonly readOnly: readonly string[];
  /** Consequences of a deletion, shown before it is confirmed. */
  readonly removal: string;
  readonly notes?: string;
  readonly examples: Readonly<Partial<Record<keyof Verbs, readonly string[]>>>;
  /** Lists a collection; `values` leave out the last key. */
  list(client: AdminClient, values: readonly string[], page: Searched): AsyncIterable<Body>;
  show(client: AdminClient, values: readonly string[]): Promise<Body>;
  /** The record as a change begins with it. */
  find(client: AdminClient, values: readonly string[]): Promise<Stored | undefined>;
  /**
   * Changes the record if it is still as found; if none was found, makes it if there still is none. Else it is 412. If
   * the record is as asked then, because an attempt without an answer was carried out (or with `orSame`, because
   * somebody did the same), the same is sent once more: so its secret is the stored one.
   */
  set(
    client: AdminClient,
    values: readonly string[],
    body: Body,
    found: Stored | undefined,
    orSame?: "orSame",
  ): Promise<Body>;
  /** True if the record is as the body asks, as far as records are shown: secrets are not. */
  isLike(record: Body, body: Body): boolean;
  /** With `found`: only if the record is still so. */
  remove(client: AdminClient, values: readonly string[], found?: Stored): Promise<void>;
}

export interface Stored {
  readonly record: Body;
  readonly etag: string;
}

interface Searched {
  readonly pageSize: number;
  /** Only rows whose id or name begins with this text. */
  readonly q?: string | undefined;
  readonly tenant?: string | undefined;
}

interface Verbs {
  readonly list: string;
  readonly show: string;
  readonly set: string;
  readonly remove: string;
}

/** A resource by the generated functions of its operations. The keys of `fields` are the names of the body's fields. */
interface Definition extends Omit<
  Resource,
  "verbs" | "fields" | "list" | "show" | "find" | "set" | "isLike" | "remove"
> {
  readonly operations: readonly [list: ApiFunction, show: ApiFunction, put: ApiFunction, remove: ApiFunction];
  readonly fields: Readonly<Record<string, Omit<Field, "name">>>;
  /** list, show, set and delete unless told. */
  readonly verbs?: Verbs;
}

export function resource({
  operations: [list, show, put, remove],
  fields: definitions,
  ...rest
}: Definition): Resource {
  const fields = Object.entries(definitions).map(([name, field]) => ({ name, ...field }));
  const secrets = fields.filter(({ type }) => type === "secret").map(({ name }) => name);
  const isLike: Resource["isLike"] = (record, body) =>
    Object.entries(body).every(([name, value]) => secrets.includes(name) || isSame(record[name], value));
  const find: Resource["find"] = async (client, values) => {
    const answer = show(...values, client.opts);
    const record = await orNone(ok(answer) as Promise<Body>);
    return record && { record, etag: (await answer).headers.get("etag") ?? "*" };
  };
  const write: Resource["set"] = (client, values, body, found) => {
    const headers = found === undefined ? { "if-none-match": "*" } : { "if-match": found.etag };
    return ok(put(...values, body, { ...client.opts, headers }));
  };
  return {
    verbs: STANDARD_VERBS,
    ...rest,
    fields,
    list: (client, values, page) =>
      rowsOf((query: Page) => list(...values, query, client.opts), page) as AsyncIterable<Body>,
    show: (client, values) => ok(show(...values, client.opts)),
    find,
    isLike,
    async set(client, values, body, found, orSame) {
      try {
        return await write(client, values, body, found);
      } catch (error) {
        const isAsked = isOtherwise(error) && (error.isRepeated || orSame !== undefined);
        const now = isAsked ? await find(client, values) : undefined;
        if (now === undefined || !isLike(now.record, body)) throw error;
        return write(client, values, body, now);
      }
    },
    async remove(client, values, found) {
      await remove(...values, { ...client.opts, ...(found && { headers: { "if-match": found.etag } }) });
    },
  };
}

/** The order of a list means nothing. */
const isSame = (one: unknown, other: unknown): boolean =>
  Array.isArray(one) && Array.isArray(other)
    ? isDeepStrictEqual(new Set<unknown>(one), new Set<unknown>(other))
    : isDeepStrictEqual(one, other);

const STANDARD_VERBS: Verbs = { list: "list", show: "show", set: "set", remove: "delete" };
export const NAME = text("name", "<text>", "its display name");
export const scopesField = (help: string) => required(texts("scope", "<scope>", help));

/** The look of a tenant or a client on pages and in mails. */
export const BRAND_FIELDS = {
  "brand.name": clearable(text("brand-name", "<text>", "its name in the head of pages and in mails")),
  "brand.logoUri": clearable(text("brand-logo", "<url>", "its logo there: https")),
  "brand.accentColor": clearable(
    text("brand-color", "<#rrggbb>", "the colour of buttons and links; its contrast must be 4.5:1"),
  ),
  "brand.accentColorDark": clearable(
    text("brand-color-dark", "<#rrggbb>", "the same in the dark theme; without it, a lighter tone is made"),
  ),
  "brand.termsUri": clearable(text("brand-terms", "<url>", "its terms")),
  "brand.privacyUri": clearable(text("brand-privacy", "<url>", "its privacy policy")),
} as const;
