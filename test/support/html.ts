/** A start tag of a document. Its values still have their entities. */
export interface Tag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** Returns the text and the start tags that the runtime's own parser finds in an answer. */
export async function parseHtml(response: Response): Promise<{ readonly text: string; readonly tags: readonly Tag[] }> {
  const tags: Tag[] = [];
  const rewriter = new HTMLRewriter().on("*", {
    element: ({ tagName, attributes }) => {
      tags.push({
        name: tagName,
        attributes: new Map(Array.from(attributes, ([name = "", value = ""]) => [name, value])),
      });
    },
  });
  return { text: await rewriter.transform(response).text(), tags };
}

export const attribute = (tag: Tag | undefined, name: string): string | undefined => tag?.attributes.get(name);
