import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/root.ts";

/**
 * Makes scripts/data/orders.jsonl: `node scripts/make-orders.ts`. Always the same 300 orders. Amounts are whole cents,
 * names use many scripts, and some notes have quotes, newlines and emoji, which break careless code.
 */
export const ORDERS_PATH = join(ROOT, "scripts", "data", "orders.jsonl");
const COUNT = 300;
const FIRST_AT_MS = Date.UTC(2026, 0, 5, 8);

const PRODUCTS: readonly (readonly [sku: string, name: string, cents: number])[] = [
  ["CUP-01", "Stoneware cup", 1450],
  ["CUP-02", "Espresso cup, set of two", 2390],
  ["TEA-11", "Sencha, 100 g", 1290],
  ["TEA-12", "Rooibos “Kap”, 250 g", 990],
  ["POT-03", "Tea pot, cast iron, 0.8 l", 6900],
  ["KET-01", "Gooseneck kettle", 8450],
  ["FIL-20", "Paper filters, 100", 490],
  ["MIL-04", "Hand mill", 5980],
  ["SPN-07", "Bamboo spoon", 350],
  ["BOX-01", "Gift box", 400],
];
const CUSTOMERS: readonly (readonly [name: string, city: string, country: string, currency: string])[] = [
  ["Grace Lindqvist", "Göteborg", "SE", "SEK"],
  ["Jürgen Weiß", "Zürich", "CH", "CHF"],
  ["Ana Conceição", "São Paulo", "BR", "BRL"],
  ["田中 さくら", "長崎市", "JP", "JPY"],
  ["Łukasz Żak", "Kraków", "PL", "PLN"],
  ["Fatma Öztürk", "İzmir", "TR", "TRY"],
  ["Ольга Мельник", "Львів", "UA", "UAH"],
  ["Amélie d’Aubigny", "Besançon", "FR", "EUR"],
  ["דנה לוי", "חיפה", "IL", "ILS"],
  ["Sam O'Neill", "Cork", "IE", "EUR"],
];
const NOTES = ['Ring twice, says "Sam"', "Second floor\nleft door", "Back \\ yard", "Danke! 🫖", "👩🏽‍🚀 birthday"];

export function makeOrders(): string[] {
  const below = createDraw(20_260_105);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  let atMs = FIRST_AT_MS;
  return Array.from({ length: COUNT }, (_, index) => {
    atMs += 1_000 * (60 + below(1_800));
    const [name, city, country, currency] = pick(CUSTOMERS);
    const lines = Array.from({ length: 1 + below(4) }, () => {
      const [sku, product, unitCents] = pick(PRODUCTS);
      return { sku, product, quantity: 1 + below(3), unitCents };
    });
    const totalCents = lines.reduce((sum, line) => sum + line.quantity * line.unitCents, 0);
    const note = below(10) === 0 ? { note: pick(NOTES) } : {};
    const id = `A-${String(index + 1).padStart(5, "0")}`;
    const orderedAt = new Date(atMs).toISOString();
    return JSON.stringify({ id, orderedAt, customer: { name, city, country }, currency, lines, totalCents, ...note });
  });
}

/** A linear congruential generator: the same numbers on every machine. */
function createDraw(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

if (import.meta.main) writeFileSync(ORDERS_PATH, `${makeOrders().join("\n")}\n`);
