/** CSV of rows that have the same keys. */
export const csvOf = (rows: readonly object[]): string =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(text))]
    .map((cells) => `${cells.join(",")}\n`)
    .join("");

const text = (value: unknown): string =>
  typeof value === "number" && !Number.isInteger(value) ? value.toFixed(3) : String(value);
