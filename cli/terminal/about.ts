/** How this program was called: `npm run plat --` in a checkout, or `plinth`. */
export interface About {
  /** The words in front of a command, for help and advice. */
  readonly name: string;
  readonly version: string;
  /** The checkout, whose `npm start` has its secrets there; undefined for the installed package. */
  readonly root: string | undefined;
}

/** An example or a piece of advice, written for `npm run plat --`, in the words of this program. */
export const inWordsOf = ({ name }: About, text: string): string => text.replaceAll(/npm run (?:-s )?plat --/g, name);
