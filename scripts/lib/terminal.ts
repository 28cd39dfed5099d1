const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
const colour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;

/** Colour for people, nothing for files and pipes. */
export const paint = Object.fromEntries(
  Object.entries(codes).map(([name, code]) => [
    name,
    (text: string) => (colour ? `\x1b[${code}m${text}\x1b[0m` : text),
  ]),
) as Record<keyof typeof codes, (text: string) => string>;
