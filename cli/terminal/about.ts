/** How this program was called: `npm run plat --` in a checkout, or `plinth`. */
export interface About {
  /** The words in front of a command, for help and advice. */
  readonly name: string;
  readonly version: string;
  /** The checkout, where `npm start` keeps the local secrets; undefined for the installed package. */
  readonly root: string | undefined;
  /** The program and its first arguments, by which this program can be started again. */
  readonly program?: readonly string[];
}

/** Replaces `npm run plat --` and `npm run -s plat --` in an example or advice if this program has another name. */
export const inWordsOf = ({ name }: About, text: string): string =>
  name.startsWith("npm run") ? text : text.replaceAll(/npm run (?:-s )?plat --/g, name);
