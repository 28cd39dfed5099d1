import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../scripts/lib/root.ts";
import * as api from "../../api/plinth.ts";
import type { Answer } from "../tour/exchange.ts";
import { jpegSize } from "../tour/jpeg.ts";
import { signIn } from "../tour/people.ts";
import type { Session } from "../tour/session.ts";
import { CATALOG } from "./described-platform.ts";

export interface Walk {
  /** Calls the platform. */
  readonly session: Session;
  /** Calls the service at its private address, past the gateway. */
  readonly direct: Session;
  /** A client's token. */
  secretOf(clientId: string): string;
  readonly operatorSecret: string;
}

/** A product in the catalog. */
interface Product {
  readonly href: string;
  /** Addresses; none without a picture. */
  readonly picture?: { readonly original: string; readonly thumbnail: string };
}

const PRODUCTS = `${CATALOG.proxyPath}/products`;
const PHOTO = readFileSync(join(ROOT, "scripts", "data", "photo.jpg"));
const PATIENCE_MS = 60_000;

/** A shop uses the catalog, and the platform plays its part. */
export async function walkThrough(walk: Walk): Promise<void> {
  const { session, secretOf } = walk;
  const client = (id: string): Promise<string> => signIn(session, { id, secret: secretOf(id) });

  session.chapter("A shop of Acme gets a token and adds products, by the gateway");
  const shop = await client(CATALOG.shopClient);
  const ids = ["lamp", "chair", "table"].map((name) => `${name}-${Date.now().toString(36)}`);
  await addProducts(walk, shop, ids);
  await followLinks(walk, shop);

  session.chapter("What is refused: by the gateway, by the service, and past the gateway");
  await showRefusals(walk, shop, await client(CATALOG.otherShopClient), ids[0] ?? "");

  session.chapter("The events about it, read by another program of the catalog's makers");
  const search = await client(CATALOG.searchClient);
  await readEvents(session, search, "product-created", ids);

  session.chapter("A picture, stored by the service and fetched from media");
  await showPicture(walk, shop, `${PRODUCTS}/${ids[0]}`);

  session.chapter("The tenant cancels the catalog");
  await cancel(walk, shop);

  session.chapter("The products go");
  for (const id of ids) await session.call(204, "DELETE", `${PRODUCTS}/${id}`, { token: shop });
  await readEvents(session, search, "product-deleted", ids);
}

async function addProducts(walk: Walk, token: string, ids: readonly string[]): Promise<void> {
  const { session } = walk;
  for (const [at, id] of ids.entries()) {
    const json = { name: `Product ${at + 1}`, price: { amount: 1_999 + at, currency: "EUR" } };
    const added = await session.call(201, "PUT", `${PRODUCTS}/${id}`, { token, json });
    if (at > 0) continue;
    session.note(added.bytes.toString("utf8"));
    session.holds("its Location is public", isPublic(walk, added.header("location")), added.header("location"));
    const { href } = added.json() as Product;
    session.holds("so is the link to itself", isPublic(walk, href), href);
    expectNoPrivateAddress(walk, added);
  }
}

async function followLinks(walk: Walk, token: string): Promise<void> {
  const { session } = walk;
  const page = await session.call(200, "GET", `${PRODUCTS}?pageSize=2`, { token });
  session.note(`Link: ${page.header("link")}`);
  session.same("a page of two", (page.json() as Product[]).length, 2);
  expectNoPrivateAddress(walk, page);
  const [, next = ""] = /<([^>]*)>; rel="next"/.exec(page.header("link")) ?? [];
  session.holds("its link to the next page is public", isPublic(walk, next), next);
  expectNoPrivateAddress(walk, await session.call(200, "GET", next, { token }));
}

async function showRefusals({ session, direct }: Walk, shop: string, other: string, id: string): Promise<void> {
  const say = (refused: Answer): void => session.note((refused.json() as api.Error).message);
  say(await session.call(401, "GET", PRODUCTS, { note: "no token" }));
  const foreign = { [`${session.platform}-tenant`]: CATALOG.tenant };
  await session.call(404, "GET", `${PRODUCTS}/${id}`, {
    token: other,
    headers: foreign,
    note: "Globex asks for it, with a header that claims to be Acme",
  });
  await direct.call(404, "GET", `/products/${id}`, {
    token: other,
    headers: foreign,
    note: "the same, sent to the service itself",
  });
  await direct.call(200, "GET", `/products/${id}`, { token: shop, note: "Acme, at the service itself" });
  const [head, claims = "", signature] = shop.split(".");
  const edited = { ...JSON.parse(Buffer.from(claims, "base64url").toString()), tenant: "globexshop" };
  const forged = [head, Buffer.from(JSON.stringify(edited)).toString("base64url"), signature].join(".");
  say(await direct.call(401, "GET", "/products", { token: forged, note: "an edited token, at the service itself" }));
}

/** Reads until every product has an event. */
async function readEvents(session: Session, token: string, type: string, ids: readonly string[]): Promise<void> {
  const missing = new Set(ids);
  const next = { numEvents: 100, autoCommit: true };
  for (const deadline = Date.now() + PATIENCE_MS; missing.size > 0 && Date.now() < deadline;) {
    const answer = await session.expect([200, 204, 404], (to) => api.readEvents(CATALOG.client, type, next, {}, to), {
      token,
    });
    if (answer.status !== 200) {
      // Published a moment after the shop's answer.
      await sleep(200);
      continue;
    }
    for (const { tenant, payload } of answer.data.events) {
      const { id } = (JSON.parse(payload) as { product: { id: string } }).product;
      if (tenant === CATALOG.tenant && missing.delete(id)) session.note(`${type} of ${tenant}: ${payload}`);
    }
  }
  session.same(`${ids.length} events, for Acme's tenant`, [...missing], []);
}

async function showPicture(walk: Walk, shop: string, product: string): Promise<void> {
  const { session } = walk;
  const stored = await session.call(200, "PUT", `${product}/picture`, {
    token: shop,
    headers: { "content-type": "image/jpeg" },
    bytes: PHOTO,
    note: `${PHOTO.length} bytes`,
  });
  expectNoPrivateAddress(walk, stored);
  const { original, thumbnail } = session.given("a picture", (stored.json() as Product).picture);
  const content = await session.call(302, "GET", original, { note: "no token: a shop's pictures are public" });
  const fetched = await session.call(200, "GET", content.header("location"));
  session.holds("the very same bytes", fetched.bytes.equals(PHOTO), fetched.bytes.length);
  let size: unknown;
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(300)) {
    const small = await session.call(302, "GET", thumbnail, { quiet: true });
    size = jpegSize((await session.call(200, "GET", small.header("location"), { quiet: true })).bytes);
    if ((size as { width: number }).width === 200) break;
  }
  session.same("a thumbnail of it", size, { width: 200, height: 200 });
}

/** The subscription is restored at the end. */
async function cancel({ session, operatorSecret }: Walk, shop: string): Promise<void> {
  const operator = { id: `${session.platform}.operator`, secret: operatorSecret };
  const token = await signIn(session, operator, undefined, "operator");
  const { tenant, package: id } = CATALOG;
  await session.expect(204, (to) => api.deleteSubscription(tenant, id, to), { token });
  const refused = await until(session, shop, 403);
  session.note((refused.json() as api.Error).message);
  await session.expect(201, (to) => api.putSubscription(tenant, id, {}, to), { token, note: "and comes back" });
  await until(session, shop, 200);
}

/** A changed subscription is known to every part of the platform within 30 s. */
async function until(session: Session, token: string, status: number): Promise<Answer> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(500)) {
    const answer = await session.ask("GET", PRODUCTS, { token });
    if (answer.status === status || Date.now() > deadline) {
      session.same(`answered ${status}`, answer.status, status);
      return answer;
    }
  }
}

const isPublic = ({ session }: Walk, address: string): boolean =>
  new URL(address).pathname.startsWith(`${new URL(session.base).pathname.replace(/\/$/, "")}${PRODUCTS}`);

function expectNoPrivateAddress({ session, direct }: Walk, { headers, bytes }: Answer): void {
  const shown = `${JSON.stringify([...headers])}\n${bytes.toString("utf8")}`;
  session.holds("nothing in it names the private address", !shown.includes(new URL(direct.base).host), shown);
}
