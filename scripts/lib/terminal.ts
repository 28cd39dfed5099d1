const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

export type Paint = Readonly<Record<keyof typeof codes, (text: string) => string>>;

export const painter = (inColour: boolean): Paint =>
  Object.fromEntries(
    Object.entries(codes).map(([name, code]) => [
      name,
      (text: string) => (inColour ? `\x1b[${code}m${text}\x1b[0m` : text),
    ]),
  ) as Record<keyof typeof codes, (text: string) => string>;

/** Colour for people, none for files and pipes. */
export const paint = painter(process.stdout.isTTY && process.env["NO_COLOR"] === undefined);
