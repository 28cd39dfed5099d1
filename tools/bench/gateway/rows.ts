/** The answers of the bench's service, built from a base address, so that the rewritten answer is known. */
export const DENSITIES = ["dense", "sparse"] as const;
export type Density = (typeof DENSITIES)[number];

export const isDensity = (name: string): name is Density => DENSITIES.includes(name as Density);

const ROWS = 7_000;
/** One row in so many has an address of the service; the others have a foreign one. */
const EVERY: Readonly<Record<Density, number>> = { dense: 1, sparse: 100 };

/** About a megabyte of rows of some 150 bytes. */
export function blockOf(base: string, density: Density): Buffer {
  const rows = Array.from({ length: ROWS }, (_, number) => {
    const of = number % EVERY[density] === 0 ? base : "https://elsewhere.example/v1";
    return `{"id":${number},"name":"product ${number}","description":"what a product of a catalog is, in a few words","self":"${of}/products/${number}"},\n`;
  });
  return Buffer.from(rows.join(""));
}

/** A small answer with two addresses. */
export const SMALL = (base: string): object => ({
  id: 17,
  name: "a product",
  description: "what a product of a catalog is, in a few words",
  self: `${base}/products/17`,
  next: `${base}/products/18`,
});
