/** The words that a person typed, in lines or with spaces or commas between them. */
export const linesOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
export const textOf = (lines: readonly string[] = []): string => lines.join("\n");

/** Texts by name, a line each: `orders.view: see your orders`. */
export const pairsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const [name = "", ...rest] = line.split(":");
        return [name.trim(), rest.join(":").trim()];
      }),
  );
export const pairsText = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([name, text]) => `${name}: ${text}`)
    .join("\n");
