import { randomUUID } from "node:crypto";
import { requireScope, type Caller } from "./access-token.ts";
import { PlatformError, type PlatformApi } from "./platform-api.ts";
import type { Product, ProductFields, ProductStore } from "./product-store.ts";
import { invalid, notFound, Refusal, type Detail } from "./refusal.ts";
import type { Settings } from "./settings.ts";

export const SCOPES = { view: "catalog.product_view", manage: "catalog.product_manage" };

export interface Request {
  readonly method: string;
  readonly url: URL;
  readonly contentType: string;
  /** Reads the whole body; more than `maxBytes` is a Refusal. */
  body(maxBytes: number): Promise<Buffer<ArrayBuffer>>;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
}

type Handler = (request: Request, caller: Caller, id: string) => Answer | Promise<Answer>;

const JSON_BYTES = 65_536;
const PICTURE_BYTES = 10_000_000;
const PICTURE_TYPES = ["image/jpeg", "image/png", "image/gif"];
const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Variants of a picture. */
const THUMBNAIL = "crop=200x200";
const LARGE = "clip=1200x1200";

/**
 * The products of the caller's tenant. Self links use the service's private address, `privateUrl`. The gateway
 * replaces it by the public one, so the service need not know its public name.
 */
export function createProductsApi(parts: {
  readonly settings: Settings;
  readonly store: ProductStore;
  readonly platform: PlatformApi;
  /** Called after each change. */
  readonly changed: () => void;
}): (request: Request, caller: Caller) => Promise<Answer> {
  const { settings, store, platform, changed } = parts;

  const selfLink = (id: string): string => `${settings.privateUrl}/products/${id}`;
  const toJson = ({ id, name, price, picture }: Product): object => {
    const address = `${settings.platformUrl}/media/v2/public/files/${picture}`;
    // A variant is made in the background; until then its address leads to the original.
    const variant = (size: string): string => `${address}?${size}&fallback=true`;
    const links = { original: address, large: variant(LARGE), thumbnail: variant(THUMBNAIL) };
    return { id, name, price, ...(picture !== undefined && { picture: links }), href: selfLink(id) };
  };

  const list: Handler = ({ url }, { tenant }) => {
    const page = readPage(url.searchParams);
    const skip = (page.number - 1) * page.size;
    const found = store.list(tenant, { after: page.after, skip, limit: page.size + 1 });
    const products = found.slice(0, page.size);
    const link = (rel: string, number: number, after?: string): string => {
      const query = new URLSearchParams({ pageNumber: String(number), pageSize: String(page.size) });
      if (after !== undefined) query.set("after", after);
      return `<${settings.privateUrl}/products?${query.toString()}>; rel="${rel}"`;
    };
    const links = [link("self", page.number, page.after)];
    if (page.number > 1) links.push(link("prev", page.number - 1));
    // Continues by the last id, so that concurrent writes neither skip nor repeat products.
    if (found.length > page.size) links.push(link("next", page.number + 1, products.at(-1)?.id));
    return { status: 200, headers: { link: links.join(", ") }, json: products.map(toJson) };
  };

  const get: Handler = (_, { tenant }, id) => {
    const product = store.find(tenant, id);
    if (product === undefined) throw notFound("product");
    return { status: 200, json: toJson(product) };
  };

  const put: Handler = async (request, { tenant }, id) => {
    if (!ID.test(id))
      throw invalid([{ type: "invalid_uri_parameter", field: "id", message: `A product's id matches ${ID.source}.` }]);
    const { product, created } = store.put(tenant, id, await readProduct(request));
    changed();
    const json = toJson(product);
    return created ? { status: 201, headers: { location: selfLink(id) }, json } : { status: 200, json };
  };

  const remove: Handler = (_, { tenant }, id) => {
    if (!store.remove(tenant, id)) throw notFound("product");
    changed();
    return { status: 204 };
  };

  const putPicture: Handler = async (request, { tenant }, id) => {
    if (store.find(tenant, id) === undefined) throw notFound("product");
    const { contentType } = request;
    if (!PICTURE_TYPES.includes(contentType))
      throw new Refusal("unsupported_request_content_type", `A picture is one of ${PICTURE_TYPES.join(", ")}.`);
    const bytes = await request.body(PICTURE_BYTES);
    const file = await onPlatform(async () => {
      const created = await platform.createPicture(tenant, contentType, `${THUMBNAIL}&${LARGE}`);
      await platform.uploadPicture(created, contentType, bytes);
      // Noted before the commit, so that a crash in between leads to its deletion. An uncommitted file expires by
      // itself.
      store.expectPicture(tenant, created.id);
      await platform.commitPicture(tenant, created, { product: id });
      return created.id;
    });
    const product = store.setPicture(tenant, id, file);
    changed();
    if (product === undefined) throw notFound("product");
    return { status: 200, json: toJson(product) };
  };

  const routes: readonly { path: RegExp; methods: Record<string, { scope: string; handle: Handler }> }[] = [
    {
      path: /^\/products$/,
      methods: {
        GET: { scope: SCOPES.view, handle: list },
        POST: { scope: SCOPES.manage, handle: (request, caller) => put(request, caller, randomUUID()) },
      },
    },
    {
      path: /^\/products\/([^/]+)$/,
      methods: {
        GET: { scope: SCOPES.view, handle: get },
        PUT: { scope: SCOPES.manage, handle: put },
        DELETE: { scope: SCOPES.manage, handle: remove },
      },
    },
    { path: /^\/products\/([^/]+)\/picture$/, methods: { PUT: { scope: SCOPES.manage, handle: putPicture } } },
  ];
  return async (request, caller) => {
    for (const { path, methods } of routes) {
      const [matched, id = ""] = path.exec(request.url.pathname) ?? [];
      if (matched === undefined) continue;
      const allow = Object.keys(methods).join(", ");
      const route = methods[request.method === "HEAD" ? "GET" : request.method];
      if (route === undefined)
        throw new Refusal("unsupported_method", `${request.method} is not among ${allow}.`, { headers: { allow } });
      requireScope(caller, route.scope);
      return route.handle(request, caller, id);
    }
    throw notFound("resource");
  };
}

/** The platform's messages go to the log; the caller gets our own. */
async function onPlatform<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    const reason = error.message;
    if (error.status === 413) throw new Refusal("bad_payload_size", "The tenant has no room for this.", { reason });
    throw new Refusal("service_temporarily_unavailable", "The picture could not be stored. Try again.", {
      headers: { "retry-after": "5" },
      reason,
    });
  }
}

async function readProduct(request: Request): Promise<ProductFields> {
  if (request.contentType !== "application/json")
    throw new Refusal("unsupported_request_content_type", "Send the product as application/json.");
  let body: unknown;
  try {
    body = JSON.parse(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(await request.body(JSON_BYTES)),
    );
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("bad_payload_syntax", "The body is not JSON.");
  }
  const { name, price } = (body ?? {}) as { name?: unknown; price?: unknown };
  const { amount, currency } = (price ?? {}) as { amount?: unknown; currency?: unknown };
  const details: Detail[] = [];
  const check = (isRight: boolean, field: string, value: unknown, rule: string): void => {
    const type = value === undefined ? "missing_field" : "invalid_field";
    if (!isRight) details.push({ type, field, message: `${field} must be ${rule}.` });
  };
  check(typeof name === "string" && name.trim() !== "" && name.length <= 200, "name", name, "1 to 200 characters");
  check(Number.isSafeInteger(amount) && Number(amount) >= 0, "price.amount", amount, "a whole number of cents");
  check(/^[A-Z]{3}$/.test(String(currency)), "price.currency", currency, "three letters, for example EUR");
  if (details.length > 0) throw invalid(details);
  return { name: String(name), price: { amount: Number(amount), currency: String(currency) } };
}

/** The platform's paging: `pageNumber` from 1, `pageSize` 16 by default; `after` comes from a `next` link. */
function readPage(query: URLSearchParams): { number: number; size: number; after: string | undefined } {
  const read = (name: string, fallback: number, most: number): number => {
    const text = query.get(name) ?? String(fallback);
    const value = /^\d{1,7}$/.test(text) ? Number(text) : 0;
    const message = `${name} must be a whole number from 1 to ${most}.`;
    if (value < 1 || value > most) throw invalid([{ type: "out_of_range_parameter", field: name, message }]);
    return value;
  };
  return {
    number: read("pageNumber", 1, 1_000_000),
    size: read("pageSize", 16, 1_000),
    after: query.get("after") ?? undefined,
  };
}
