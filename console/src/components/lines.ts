/** A list of words as people type it: in lines, or with spaces or commas between. */
export const linesOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
export const textOf = (lines: readonly string[]): string => lines.join("\n");
